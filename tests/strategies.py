"""Random scenarios over the whole model, small enough to run in milliseconds.

``documents`` draws what a TOML file would say; a lattice of quarter seconds makes ties abound.
"""

from typing import Any

from hypothesis import strategies as st

QUARTERS = st.integers(1, 40).map(lambda n: n / 4)
SHARES = st.sampled_from([0.0, 0.1, 0.5])
LAWS = st.one_of(
    QUARTERS.map(lambda value: {"kind": "constant", "value_s": value}),
    QUARTERS.map(lambda mean: {"kind": "exponential", "mean_s": mean}),
)
DELAYS = st.one_of(
    st.just(None),
    st.sampled_from([0.25, 0.5, 2.0]).map(lambda value: {"kind": "constant", "value_s": value}),
    st.just({"kind": "lognormal", "mean_s": 0.05, "cv": 1.0}),
)
FIRST = st.sampled_from(["after-interval", "at-once", "random-phase"])
POLLING = st.one_of(
    st.fixed_dictionaries(
        {"kind": st.just("fixed"), "interval_s": QUARTERS, "first": FIRST,
         "jitter": st.sampled_from([0.0, 0.5])}
    ),
    st.fixed_dictionaries({"kind": st.just("hint"), "default_s": QUARTERS, "first": FIRST,
                           "own_s": st.sampled_from([0.0, 1.0])}),
    st.fixed_dictionaries({"kind": st.just("reference-loop"), "default_s": QUARTERS}),
    st.fixed_dictionaries(
        {"kind": st.just("ramp"), "base_s": st.just(0.25), "default_s": QUARTERS, "first": FIRST}
    ),
    st.just({"kind": "schedule", "gaps_s": [0.25, 0.5, 3.0]}),
    st.just({"kind": "quadratic", "delay_cost_per_s": 1.0}),
    st.just({"kind": "hazard", "delay_cost_per_s": 1.0, "min_s": 0.25}),
    st.just({"kind": "preset", "name": "google-api-core"}),
    st.just({"kind": "agent", "turn": {"kind": "exponential", "mean_s": 2.0}, "first": "at-once"}),
    st.sampled_from(["mean", "lognormal"]).map(
        lambda fit: {"kind": "learning", "fit": fit, "delay_cost_per_s": 1.0, "enough": 2}
    ),
    st.fixed_dictionaries(
        {"kind": st.just("long-poll"), "wait_s": QUARTERS, "default_s": QUARTERS}
    ),
    st.fixed_dictionaries(
        {"kind": st.just("backoff"), "base_s": st.just(0.25), "cap_s": st.just(4.0),
         "first": FIRST,
         "spread": st.sampled_from(["proportional", "full", "equal", "decorrelated"])}
    ),
)  # fmt: skip
ARRIVALS = st.one_of(
    st.sampled_from([0.5, 2.0, 8.0]).map(lambda rate: {"kind": "poisson", "rate": rate}),
    st.sampled_from([1.0, 4.0]).map(lambda rate: {"kind": "constant", "rate": rate}),
    st.just({"kind": "bursty", "rates": [0.0, 8.0], "mean_s": [5.0, 2.0]}),
    LAWS.map(lambda think: {"kind": "closed", "users": 5, "think": think}),
)


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A value, or None: the key is left out."""
    return st.one_of(st.none(), values)


def without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_none(item) for key, item in value.items() if item is not None}
    return [without_none(item) for item in value] if isinstance(value, list) else value


@st.composite
def populations(draw: Any, name: str, share: float, *, counted: bool) -> dict[str, Any]:
    return {
        "name": name,
        "share": share,
        "count": draw(st.integers(1, 3)) if counted else None,
        "side": draw(st.sampled_from(["client", "server"])),
        "augmented": draw(st.sampled_from(["always", "always", "if-declared", "never"])),
        "polling": draw(POLLING),
        "created_timeout_s": draw(QUARTERS),
        "created_fallback": draw(st.sampled_from(["poll", "original", "backoff"])),
        "create_attempts": draw(st.integers(1, 3)),
        "retry_id": draw(st.sampled_from(["same", "new"])),
        "original_response": draw(st.sampled_from(["ignored", "raced"])),
        "keep_alive_s": draw(maybe(QUARTERS)),
        "request_timeout_s": draw(QUARTERS),
        "attempts": draw(st.integers(1, 6)),
        "limited_gap_s": draw(maybe(st.just(0.5))),
        "limited_attempts": draw(st.integers(1, 30)),
        "cancel_patience_s": draw(QUARTERS),
        "patience_s": draw(maybe(st.just(30.0))),
        "session_s": draw(maybe(st.just(20.0))),
        "max_open": draw(maybe(st.integers(1, 3))),
        "cancel_share": draw(SHARES),
        "cancel_after": draw(LAWS),
        "polls_max": draw(maybe(st.integers(1, 9))),
        "push": draw(st.sampled_from(["ignored", "wakes", "trusted"])),
        "awaits": draw(st.sampled_from(["polls", "result"])),
        "input_by": draw(st.sampled_from(["result", "polls"])),
        "waits_for": draw(st.sampled_from(["each", "any"])),
        "rest": draw(st.sampled_from(["left", "cancelled"])),
        "crash": draw(maybe(crashes())),
        "breaker": draw(maybe(st.just({"failures": 2, "open_s": 3.0}))),
        "retry_budget": draw(maybe(st.just({"share": 0.1, "reserve": 1}))),
        "pace": draw(maybe(st.just({"rate": 2.0, "burst": 2}))),
    }


@st.composite
def crashes(draw: Any) -> dict[str, Any]:
    return {
        "share": 0.5,
        "after": draw(LAWS),
        "back_s": draw(st.sampled_from([0.0, 2.0])),
        "remembers": draw(st.booleans()),
    }


@st.composite
def works(draw: Any, name: str, share: float) -> dict[str, Any]:
    asks = {
        "share": 0.5,
        "at_fraction": draw(st.sampled_from([0.0, 0.5, 1.0])),
        "holds_worker": draw(st.booleans()),
        "requests": draw(st.integers(1, 2)),
        "think": draw(LAWS),
    }
    return {
        "name": name,
        "share": share,
        "method": draw(st.sampled_from(["tools/call", "sampling/createMessage"])),
        "duration": draw(LAWS),
        "failed_share": draw(SHARES),
        "unknown_share": draw(SHARES),
        "input_required": draw(maybe(st.just(asks))),
        "sensitive": draw(st.booleans()),
        "poll_frequency": draw(maybe(st.just({"kind": "fixed", "interval_s": 0.75}))),
        "milestones": draw(st.sampled_from([0, 0, 3])),
    }


def bucket(rate: float) -> dict[str, Any]:
    return {"kind": "token-bucket", "rate": rate, "burst": 2}


@st.composite
def receivers(draw: Any) -> dict[str, Any]:
    handling = {
        "servers": 1,
        "shares_workers": draw(st.booleans()),
        "get_s": draw(st.sampled_from([0.0, 0.05])),
        "create_s": draw(st.sampled_from([0.0, 0.25])),
    }
    return {
        "workers": draw(maybe(st.integers(1, 3))),
        "handling": draw(maybe(st.just(handling))),
        "stop_s": draw(st.sampled_from([0.0, 0.5])),
        "pickup_s": draw(st.sampled_from([0.0, 0.0, 0.75])),
        "isolation": draw(st.sampled_from(["session", "principal", "none"])),
        "tasks": draw(st.sampled_from([True, True, True, False])),
        "task_methods": draw(maybe(st.just(["tools/call"]))),
        "poll_frequency": draw(
            maybe(
                st.one_of(
                    QUARTERS.map(lambda interval: {"kind": "fixed", "interval_s": interval}),
                    st.just({"kind": "fixed", "interval_s": 1.0, "spread": 0.5}),
                    st.just({"kind": "load-dependent", "polls_per_s": 2.0, "min_s": 0.5}),
                    st.just({"kind": "age-dependent", "delay_cost_per_s": 0.5, "min_s": 0.25}),
                )
            )
        ),
        "keep_alive": {
            "default_s": draw(QUARTERS),
            "max_s": draw(maybe(QUARTERS)),
            "sweep_s": draw(st.sampled_from([0.0, 3.0])),
            "unlimited": draw(st.sampled_from([False, False, True])),
            "anchor": draw(maybe(st.sampled_from(["end", "creation", "both"]))),
        },
        "dialect": draw(st.sampled_from(["sep-1686", "sep-1686", "mcp-2025-11-25", "sep-2663"])),
        "store": draw(
            maybe(
                st.fixed_dictionaries(
                    {
                        "limit": st.integers(1, 6),
                        "when_full": st.sampled_from(["refuses", "evicts"]),
                    }
                )
            )
        ),
        "long_poll": draw(
            maybe(
                st.fixed_dictionaries({"max_s": QUARTERS, "connections": maybe(st.integers(1, 4))})
            )
        ),
        "pushes": draw(
            st.sampled_from([None, ["ended"], ["input", "milestone"], ["ended", "milestone"]])
        ),
        "concurrency": {
            "per_requester": draw(maybe(st.integers(1, 3))),
            "total": draw(maybe(st.integers(1, 5))),
            "queue": draw(st.sampled_from([0, 0, 2, 100])),
        },
        "rate_limits": {
            "create": draw(maybe(st.just({**bucket(2.0), "scope": "requester"}))),
            "get": draw(
                maybe(
                    st.sampled_from(
                        [
                            bucket(4.0),
                            {"kind": "concurrency", "limit": 1, "retry_after_s": 0.25},
                            {"kind": "aimd", "start": 2, "target_s": 0.1, "retry_after_s": 0.25},
                            {"kind": "leaky-bucket", "rate": 4.0, "room": 3},
                            {"kind": "whole-tokens", "rate": 2.0, "burst": 3},
                            {"kind": "sliding-counter", "window_s": 2.0, "limit": 6},
                            {"kind": "gcra", "rate": 4.0, "tolerance_s": 0.5},
                            {"kind": "fixed-window", "window_s": 2.0, "limit": 6},
                            {
                                "kind": "sliding-log",
                                "window_s": 2.0,
                                "limit": 6,
                                "scope": "requester",
                            },
                        ]
                    )
                )
            ),
            "result": draw(maybe(st.just(bucket(1.0)))),
            "cancel": draw(maybe(st.just(bucket(0.5)))),
        },
        "input_timeout_s": draw(maybe(QUARTERS)),
        "duplicate_ids": draw(st.sampled_from(["rejected", "accepted"])),
        "forgotten_ids": draw(st.sampled_from(["rejected", "accepted"])),
        "tombstones": draw(st.sampled_from([0, 3, 1000])),
        "delete": draw(st.sampled_from(["terminal", "always", "never", "unsupported"])),
        "original_after_cancel": draw(st.sampled_from(["none", "error"])),
        "watch": draw(maybe(st.just({"failed_lookups": 2, "early_polls": 2}))),
    }


@st.composite
def faults(draw: Any) -> dict[str, Any]:
    restart = {
        "at_s": draw(st.sampled_from([2.0, 5.25])),
        "down_s": draw(st.sampled_from([0.0, 1.0, 7.5])),
        "durable": draw(st.booleans()),
        "interrupted": draw(st.sampled_from(["failed", "redone"])),
    }
    return {
        "created_lost_share": draw(SHARES),
        "request_lost_share": draw(SHARES),
        "reply_lost_share": draw(SHARES),
        "original_lost_share": draw(SHARES),
        "input_lost_share": draw(SHARES),
        "request_lost": draw(st.sampled_from([{}, {"get": 0.0, "cancel": 1.0}])),
        "reply_lost": draw(st.sampled_from([{}, {"result": 0.5, "get": 0.0}])),
        "request_duplicated_share": draw(SHARES),
        "reply_duplicated_share": draw(SHARES),
        "restarts": draw(st.sampled_from([[], [restart], [restart, {**restart, "at_s": 20.0}]])),
        "push_lost_share": draw(SHARES),
        "request_duplicated": draw(st.sampled_from([{}, {"get": 0.5}])),
        "reply_duplicated": draw(st.sampled_from([{}, {"create": 0.5, "get": 0.0}])),
        "request_delayed": draw(
            maybe(st.just({"by": {"kind": "constant", "value_s": 1.25}, "of": {"get": 0.3}}))
        ),
        "reply_delayed": draw(
            maybe(st.just({"by": {"kind": "exponential", "mean_s": 2.0}, "share": 0.2}))
        ),
        "stalls": draw(st.sampled_from([[], [{"at_s": 3.0, "for_s": 2.5}]])),
        "outages": draw(st.sampled_from([[], [{"at_s": 4.0, "for_s": 1.5}]])),
        "slow_work": draw(maybe(st.just({"share": 0.3, "factor": 3.0}))),
        "worker_deaths": draw(
            maybe(
                st.sampled_from(
                    [
                        {"share": 0.3, "noticed_s": 5.0},
                        {"share": 0.3, "noticed_s": 1.0, "known": False},
                    ]
                )
            )
        ),
        "stream_cuts": draw(
            maybe(
                st.sampled_from(
                    [
                        {"after": {"kind": "constant", "value_s": 0.5}},
                        {"after": {"kind": "exponential", "mean_s": 1.0}, "resumes_s": 0.75},
                    ]
                )
            )
        ),
    }


def make_whole(draw: Any, document: dict[str, Any], *, counted: bool) -> None:
    """Drop what does not go together."""
    receiver = document["receiver"]
    limits = receiver["rate_limits"]
    is_in_hand = (limits["get"] or {}).get("kind") in {"concurrency", "aimd"}
    if receiver["handling"] is None and is_in_hand:
        limits["get"] = None
    if counted and draw(st.booleans()):
        document["batch"] = draw(st.integers(2, 4))
    for population in document["requesters"]:
        if document.get("batch", 1) == 1:
            del population["waits_for"]
        if population.get("waits_for", "each") == "each":
            population.pop("rest", None)
    if receiver["keep_alive"]["unlimited"]:
        del receiver["keep_alive"]["default_s"]
    if receiver["dialect"] == "sep-1686" and draw(st.booleans()):
        give_children(draw, document)
    drop_other_dialects(document)


def give_children(draw: Any, document: dict[str, Any]) -> None:
    document["work"][1]["children"] = {
        "count": draw(st.integers(1, 3)),
        "work": "short",
        "holds_worker": draw(st.booleans()),
        "at_fraction": draw(st.sampled_from([0.0, 0.5, 1.0])),
    }
    for population in document["requesters"]:
        del population["retry_id"]
        if population["crash"] is not None:
            population["crash"]["remembers"] = True


def drop_other_dialects(document: dict[str, Any]) -> None:
    receiver = document["receiver"]
    if receiver["dialect"] != "sep-1686":
        del receiver["duplicate_ids"]
        for population in document["requesters"]:
            del population["original_response"], population["created_fallback"]
    if receiver["dialect"] != "mcp-2025-11-25":
        for population in document["requesters"]:
            del population["awaits"], population["input_by"]


@st.composite
def documents(draw: Any) -> dict[str, Any]:
    """What a scenario file says, as a dictionary."""
    arrivals = draw(ARRIVALS)
    counted = arrivals["kind"] != "closed"
    document = {
        "seed": draw(st.integers(0, 1000)),
        "tasks": draw(st.integers(1, 25)),
        "arrivals": arrivals,
        "requesters": [
            draw(populations("one", 0.5, counted=counted)),
            draw(populations("two", 0.5, counted=counted)),
        ],
        "work": [draw(works("short", 0.5)), draw(works("long", 0.5))],
        "receiver": draw(receivers()),
        "network": {
            "request": draw(DELAYS),
            "reply": draw(DELAYS),
            "stream_lifetime_s": draw(maybe(QUARTERS)),
        },
        "faults": draw(faults()),
    }
    make_whole(draw, document, counted=counted)
    return without_none(document)  # type: ignore[no-any-return]
