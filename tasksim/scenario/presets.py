"""How real clients poll, by name.

Rule: a preset is settings that a scenario could spell out, with its source. A client's own total
time-out is not part of it: ``requesters.patience_s`` says that.
"""

from dataclasses import dataclass
from typing import Final

from tasksim.scenario.polls import (
    BackoffPolling,
    FixedPolling,
    HintPolling,
    PlainPolling,
    Polling,
    PresetPolling,
    RampPolling,
    ReferenceLoop,
)


@dataclass(frozen=True, slots=True)
class Preset:
    """A client's rule and where it was read."""

    rule: PlainPolling
    source: str


PRESETS: Final[dict[str, Preset]] = {
    "sep-1686-loop": Preset(ReferenceLoop(), "SEP-1686, section 3.2, example loop"),
    "fastmcp": Preset(
        HintPolling(default_s=5.0), "PrefectHQ/fastmcp 2666; fastmcp/utilities/tasks.py 4.2.3"
    ),
    "fastmcp-2.14": Preset(
        FixedPolling(interval_s=0.5), "fastmcp 2.14.7, fastmcp/client/tasks.py:210-271"
    ),
    "fastmcp-tasks-4.1": Preset(
        RampPolling(base_s=0.02, default_s=0.5, first="at-once"),
        "fastmcp-tasks 4.1.4, fastmcp_tasks/client.py:248-300",
    ),
    "mcp-1.30": Preset(
        HintPolling(default_s=0.5, first="at-once"),
        "mcp 1.30, mcp/shared/experimental/tasks/polling.py:18-45",
    ),
    "typescript-sdk-1.32": Preset(
        HintPolling(default_s=1.0, first="at-once"),
        "TypeScript SDK 1.32.2, dist/esm/shared/protocol.js:558-634",
    ),
    "mcpjam": Preset(
        HintPolling(default_s=5.0, floor_s=0.25, ceiling_s=300.0, first="at-once"),
        "MCPJam/inspector, task-lifecycle.ts",
    ),
    "mcpjam-old": Preset(
        FixedPolling(interval_s=0.5),
        "MCPJam/inspector 3518: the least hint of all tasks, 500 ms there, for every one of them",
    ),
    "python-sdk-2663-draft": Preset(
        HintPolling(default_s=0.5, first="at-once"),
        "python-sdk 3005: deaf to the creation's hint, so one poll more, at once",
    ),
    "inspector": Preset(
        HintPolling(default_s=5.0),
        "MCP inspector 1037, 1192: raced against notifications, push = 'wakes'",
    ),
    "deer-flow": Preset(BackoffPolling(base_s=5.0, factor=2.0, cap_s=30.0), "deer-flow 4690"),
    "kibana": Preset(
        HintPolling(default_s=3.0, floor_s=0.5, ceiling_s=3.0),
        "kibana 200260: 500 ms to 3 s by load, which the receiver's load-dependent interval tells",
    ),
    "anolisa": Preset(HintPolling(default_s=5.0, ceiling_s=30.0), "ANOLISA 2645"),
    "google-api-core": Preset(
        BackoffPolling(base_s=1.0, factor=1.5, cap_s=20.0),
        "google-api-core 2.44, google/api_core/future/polling.py",
    ),
    "gapic-lro": Preset(
        BackoffPolling(base_s=5.0, factor=1.5, cap_s=45.0), "sdk-platform-java 501"
    ),
    "azure-core": Preset(
        FixedPolling(interval_s=30.0), "azure-core 1.41, azure/core/polling/base_polling.py"
    ),
    "sempy-lro": Preset(
        BackoffPolling(base_s=1.0, factor=2.0, cap_s=600.0), "learn.microsoft.com, LroConfig"
    ),
    "aws-waiter": Preset(
        FixedPolling(interval_s=15.0), "botocore 1.44.8, the commonest delay of its 654 waiters"
    ),
}


def resolved(polling: Polling) -> PlainPolling:
    """The rule itself, where a preset is named the one that it stands for."""
    return PRESETS[polling.name].rule if isinstance(polling, PresetPolling) else polling
