"""What stands in for the circuit of a query set that has nothing on the device."""

from __future__ import annotations

from penstock.gen.errors import DeviceError
from penstock.host.encode import Words
from penstock.sim.simulated.circuit import CIRCUIT_COUNTERS, Found


class NoCircuit:
    """Lets nothing through and counts nothing, for events of any number."""

    def __init__(self) -> None:
        self._is_open = True

    def match(self, events: Words) -> Found:
        self._check_open()
        return Found()

    def configure(self, words: Words) -> None:
        self._check_open()

    def counters(self) -> dict[str, int]:
        self._check_open()
        return dict.fromkeys(("cycles", *CIRCUIT_COUNTERS), 0)

    def close(self) -> None:
        self._is_open = False

    def _check_open(self) -> None:
        if not self._is_open:
            raise DeviceError("this device is closed")
