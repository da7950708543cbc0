"""Where load may go."""

import pytest

from tasksim.live.client import Target, TargetError


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://127.0.0.1:81/mcp", "127.0.0.1", 81),
        ("http://localhost:81/mcp", "127.0.0.1", 81),
        ("http://[::1]:81/mcp", "::1", 81),
        ("http://127.0.0.1/mcp", "127.0.0.1", 80),
    ],
)
def test_load_goes_to_this_machine(url: str, host: str, port: int) -> None:
    target = Target.of(url)
    assert (target.host, target.port, target.path) == (host, port, "/mcp")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://example.com/mcp", "this machine only"),
        ("http://127.0.0.1.example.com/mcp", "this machine only"),
        ("http://127.0.0.1@example.com/mcp", "this machine only"),
        ("http://10.0.0.1/mcp", "this machine only"),
        ("https://127.0.0.1/mcp", "must begin with http://"),
        ("127.0.0.1:80", "must begin with http://"),
        ("", "must begin with http://"),
        ("http://127.0.0.1:port/mcp", "port"),
        ("http://[::1/mcp", "IPv6"),
    ],
)
def test_load_goes_nowhere_else(url: str, why: str) -> None:
    with pytest.raises(TargetError, match=why):
        Target.of(url)
