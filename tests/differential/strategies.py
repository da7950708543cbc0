"""Random scenarios that the fast engine can run: those of all, cut to what it knows."""

from typing import Any

from hypothesis import strategies as st

from tasksim.engines.fast.supports import (
    OF_FAULTS,
    OF_NETWORK,
    OF_POPULATION,
    OF_RECEIVER,
    OF_WORK,
)
from tests.strategies import documents

LIMITS = ("token-bucket", "gcra")
POLLS = ("reference-loop", "learning", "long-poll", "python")


def cut(document: dict[str, Any]) -> dict[str, Any]:
    """Drop what the fast engine does not know yet."""
    document.pop("batch", None)
    if document["arrivals"]["kind"] == "closed":
        document["arrivals"] = {"kind": "poisson", "rate": 4.0}
    for population in document["requesters"]:
        if population["polling"]["kind"] in POLLS:
            population["polling"] = {"kind": "fixed", "interval_s": 1.25, "first": "at-once"}
    document["requesters"] = [_kept(p, OF_POPULATION) for p in document["requesters"]]
    for population in document["requesters"]:
        population.pop("retry_id", None)
    document["work"] = [_kept(work, OF_WORK) for work in document["work"]]
    receiver = _kept(document["receiver"], OF_RECEIVER)
    receiver["keep_alive"].pop("anchor", None)
    get = receiver["rate_limits"].get("get")
    receiver["rate_limits"] = {"get": get} if get and get["kind"] in LIMITS else {}
    document["receiver"] = receiver
    document["network"] = _kept(document["network"], OF_NETWORK)
    document["faults"] = _kept(document["faults"], OF_FAULTS)
    return document


def _kept(part: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key in known}


@st.composite
def fast_documents(draw: Any) -> dict[str, Any]:
    """A scenario for both engines."""
    document = cut(draw(documents()))
    document["tasks"] = draw(st.integers(1, 60))
    if draw(st.booleans()):
        document["horizon_s"] = draw(st.sampled_from([3.0, 7.5, 20.0]))
        document["drain"] = draw(st.booleans())
    return document
