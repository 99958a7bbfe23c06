"""Boxes: whether points lie in them, at the edges and in as many fields as there may be."""

import numba
import numpy as np
import pytest

from penstock.host.software.boxes import MOST_CODES, boxes_for, is_in, narrow, points_for

COUNT = 40


@numba.njit
def narrowed(boxes, ranges):
    for number in range(len(ranges)):
        for field in range(ranges.shape[1]):
            narrow(boxes, number, field, ranges[number, field, 0], ranges[number, field, 1])


@numba.njit
def all_pairs(boxes, points):
    found = np.zeros((len(boxes), len(points)), np.int64)
    for number in range(len(boxes)):
        for event in range(len(points)):
            found[number, event] = is_in(boxes, number, points, event)
    return found


@pytest.mark.parametrize("fields", [1, 2, 15, 16, 17, 33, 64])
@pytest.mark.parametrize("top", [7, MOST_CODES])
def test_points_lie_in_the_boxes_that_have_them_in_every_field(fields, top):
    rng = np.random.default_rng(fields)
    at = rng.integers(0, top, fields)
    edges = np.array([-1, 0, 1])
    low = np.clip(
        at - rng.integers(-1, 3, (COUNT, fields)) * (rng.random((COUNT, fields)) < 0.2), 0, top
    )
    high = np.clip(at + 1 + rng.choice(edges, (COUNT, fields), p=[0.02, 0.9, 0.08]), 0, top)
    boxes = boxes_for(COUNT, fields)
    points = points_for(30, boxes)
    near = at + rng.choice(edges, (30, fields), p=[0.03, 0.94, 0.03])
    points[:, :fields] = np.clip(near, 0, top - 1)
    narrowed(boxes, np.stack([low, high], axis=2))
    codes = points[None, :, :fields].astype(np.int64)
    wanted = ((low[:, None] <= codes) & (codes < high[:, None])).all(axis=2)
    assert wanted.any() and not wanted.all()
    assert (all_pairs(boxes, points) == wanted).all()


def test_what_is_narrowed_twice_is_what_both_have():
    boxes = boxes_for(3, 2)
    narrowed(boxes, np.array([[(2, 9), (0, 70_000)], [(2, 9), (5, 5)], [(0, 3), (0, 3)]]))
    narrowed(boxes, np.array([[(4, 20), (1, 70_000)], [(0, 9), (0, 9)], [(3, 9), (0, 9)]]))
    points = points_for(4, boxes)
    points[:, :2] = [(4, 1), (8, MOST_CODES - 1), (9, 1), (3, 1)]
    assert all_pairs(boxes, points).tolist() == [[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]


def test_there_are_no_points_where_there_are_no_boxes():
    assert len(points_for(5, boxes_for(0, 3))) == 0
    assert points_for(5, boxes_for(1, 17)).shape == (5, 32)
