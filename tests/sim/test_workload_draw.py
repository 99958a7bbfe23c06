"""Distributions: values of a chance, and the chance of values."""

import numpy as np
import pytest

from penstock.sim.workload.draw import Distribution, stream


@pytest.mark.parametrize("exponent", [0.0, 0.7, 1.0, 1.3])
@pytest.mark.parametrize("size", [1, 48, 2**31 - 1])
def test_quantile_inverts_the_distribution(size, exponent):
    of = Distribution(size, exponent)
    chance = np.concatenate([stream(1).random(5000), [0.0, 1.0]])
    values = of.quantile(chance)
    assert values.min() >= 0 and values.max() == size - 1
    assert (of.cdf(values) >= chance - 1e-9).all()
    assert (of.cdf(values - 1) <= chance + 1e-9).all()
