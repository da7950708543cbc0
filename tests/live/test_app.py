"""The receiver over HTTP, in memory: what a client sees, and what it cannot break."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from tasksim.live.app import BODY_BYTES_MAX, make_app
from tasksim.live.service import TaskService
from tasksim.protocol.occurrences import Kind, Operation
from tasksim.scenario.loading import load

TASK_KEY = "modelcontextprotocol.io/task"
Test = Callable[[httpx.AsyncClient, TaskService], Awaitable[None]]


def run(test: Test, *overrides: str) -> TaskService:
    """Run a test against a fresh receiver on an event loop of its own."""
    service = TaskService(load("live-smoke", overrides))

    async def inside() -> None:
        transport = httpx.ASGITransport(app=make_app(service))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            await test(client, service)

    asyncio.run(inside())
    return service


@asynccontextmanager
async def session(client: httpx.AsyncClient) -> AsyncIterator[dict[str, str]]:
    answer = await client.post("/mcp", json={"jsonrpc": "2.0", "id": 0, "method": "initialize"})
    yield {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"]}


def creation(
    task_id: str = "t", duration_ms: float = 5, outcome: Any = "ok", **more: Any
) -> dict[str, Any]:
    meta = {TASK_KEY: {"taskId": task_id}, **more}
    arguments = {"duration_ms": duration_ms, "outcome": outcome}
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "work", "arguments": arguments, "_meta": meta},
    }


def about(method: str, task_id: str = "t") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 2, "method": method, "params": {"taskId": task_id}}


def events(answer: httpx.Response) -> list[dict[str, Any]]:
    return [json.loads(x[6:]) for x in answer.text.splitlines() if x.startswith("data: ")]


SSE = {"Accept": "application/json, text/event-stream"}


@pytest.mark.requirement("R01")
def test_initialize_declares_tasks_and_gives_a_session() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        answer = await client.post("/mcp", json={"jsonrpc": "2.0", "id": 7, "method": "initialize"})
        result = answer.json()["result"]
        assert answer.json()["id"] == 7
        assert result["capabilities"]["tasks"] == {"requests": {"tools": {"call": True}}}
        assert len(answer.headers["Mcp-Session-Id"]) >= 22
        other = await client.post("/mcp", json={"jsonrpc": "2.0", "id": 7, "method": "initialize"})
        assert other.headers["Mcp-Session-Id"] != answer.headers["Mcp-Session-Id"]

    run(test)


@pytest.mark.requirement("R03")
def test_a_stream_carries_the_notification_and_then_the_original_response() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        async with session(client) as headers:
            answer = await client.post("/mcp", json=creation(), headers={**headers, **SSE})
        created, original = events(answer)
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert created["method"] == "notifications/tasks/created"
        assert original["id"] == 1
        assert original["result"]["isError"] is False

    run(test)


def test_get_and_result_follow_the_task() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        async with session(client) as headers:
            pending = asyncio.create_task(
                client.post("/mcp", json=creation(duration_ms=300), headers={**headers, **SSE})
            )
            await asyncio.sleep(0.05)
            view = (await client.post("/mcp", json=about("tasks/get"), headers=headers)).json()
            early = (await client.post("/mcp", json=about("tasks/result"), headers=headers)).json()
            await pending
            done = (await client.post("/mcp", json=about("tasks/get"), headers=headers)).json()
            result = (await client.post("/mcp", json=about("tasks/result"), headers=headers)).json()
        assert view["result"]["status"] == "working"
        assert view["result"]["pollFrequency"] == 1000
        assert early["error"]["code"] == -32602
        assert done["result"]["status"] == "completed"
        assert result["result"]["content"] == [{"type": "text", "text": "done"}]

    run(test)


def test_a_client_without_streams_loses_the_notification_which_is_logged() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        async with session(client) as headers:
            answer = await client.post(
                "/mcp", json=creation(), headers={**headers, "Accept": "application/json"}
            )
        assert answer.json()["result"]["isError"] is False

    log = run(test).recorder.finish()
    assert ((log.kind == Kind.LOST) & (log.operation == Operation.CREATED)).sum() == 1


def test_a_drawn_loss_is_the_simulations() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        async with session(client) as headers:
            both = {**headers, **SSE}
            draw = {"tasksim/draw": {"entity": 3, "replication": 0}}
            lost = await client.post("/mcp", json=creation("a", **draw), headers=both)
            heard = await client.post("/mcp", json=creation("b"), headers=both)
        assert [event.get("method") for event in events(lost)] == [None]
        assert len(events(heard)) == 2

    run(test, "faults.created_lost_share=1")


def test_failed_work_answers_with_an_error_and_shows_it_in_get() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        document = creation()
        document["params"]["arguments"]["outcome"] = "failure"
        async with session(client) as headers:
            answer = await client.post("/mcp", json=document, headers={**headers, **SSE})
            view = (await client.post("/mcp", json=about("tasks/get"), headers=headers)).json()
        assert events(answer)[1]["error"]["code"] == -32603
        assert (view["result"]["status"], view["result"]["error"]) == (
            "failed",
            "Tool execution failed",
        )

    run(test)


@pytest.mark.requirement("R49")
def test_sessions_do_not_see_each_others_tasks() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        async with session(client) as a, session(client) as b:
            await client.post("/mcp", json=creation(), headers={**a, **SSE})
            foreign = (await client.post("/mcp", json=about("tasks/get"), headers=b)).json()
            unknown = (await client.post("/mcp", json=about("tasks/get", "x"), headers=b)).json()
        for answer in (foreign, unknown):
            del answer["error"]["data"]
        assert foreign == unknown

    run(test)


@pytest.mark.requirement("R04")
def test_a_plain_call_works_without_a_task() -> None:
    async def test(client: httpx.AsyncClient, service: TaskService) -> None:
        document = creation()
        del document["params"]["_meta"]
        async with session(client) as headers:
            answer = await client.post("/mcp", json=document, headers={**headers, **SSE})
        assert answer.json()["result"]["isError"] is False
        assert service.resident_tasks == 0

    run(test)


def test_a_plain_call_that_fails_is_answered_as_its_task_would_be() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        document = creation(outcome="failure")
        del document["params"]["_meta"]
        async with session(client) as headers:
            answer = await client.post("/mcp", json=document, headers={**headers, **SSE})
        assert answer.json()["error"] == {"code": -32603, "message": "Tool execution failed"}

    run(test)


def test_a_plain_call_that_nobody_dictates_takes_as_long_as_the_scenario_says() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        document = creation()
        del document["params"]["_meta"]
        del document["params"]["arguments"]["duration_ms"]
        async with session(client) as headers:
            pending = client.post("/mcp", json=document, headers={**headers, **SSE})
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(pending, 0.3)

    run(test)  # one to six seconds


def test_media_types_are_compared_without_case() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        async with session(client) as headers:
            loud = {**headers, "Accept": "Application/JSON, Text/Event-Stream"}
            answer = await client.post("/mcp", json=creation(), headers=loud)
        assert len(events(answer)) == 2

    run(test)


def test_an_answer_to_nothing_that_was_asked_is_taken_in_silence() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        document = {"jsonrpc": "2.0", "id": 9, "result": {}}
        async with session(client) as headers:
            answer = await client.post("/mcp", json=document, headers=headers)
        assert (answer.status_code, answer.content) == (202, b"")

    run(test)


def test_a_notification_opens_no_session() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        answer = await client.post("/mcp", json={"jsonrpc": "2.0", "method": "initialize"})
        assert answer.status_code == 400
        assert "Mcp-Session-Id" not in answer.headers

    run(test)


def test_a_stream_ends_with_its_lifetime_and_the_work_goes_on() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        async with session(client) as headers:
            both = {**headers, **SSE}
            cut = await client.post("/mcp", json=creation("a", duration_ms=900), headers=both)
            view = (await client.post("/mcp", json=about("tasks/get", "a"), headers=headers)).json()
            whole = await client.post("/mcp", json=creation("b"), headers=both)
            await asyncio.sleep(0.9)
            late = (await client.post("/mcp", json=about("tasks/get", "a"), headers=headers)).json()
        assert [event.get("method") for event in events(cut)] == ["notifications/tasks/created"]
        assert view["result"]["status"] == "working"
        assert len(events(whole)) == 2
        assert late["result"]["status"] == "completed"

    log = run(test, "network.stream_lifetime_s=0.1").recorder.finish()
    is_lost = (log.kind == Kind.LOST) & (log.operation == Operation.ORIGINAL)
    assert is_lost.sum() == 1


def test_work_that_nobody_dictates_takes_as_long_as_the_scenario_says() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        document = creation()
        del document["params"]["arguments"]["duration_ms"]
        async with session(client) as headers:
            pending = client.post("/mcp", json=document, headers={**headers, **SSE})
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(pending, 0.3)

    run(test)  # one to six seconds


@pytest.mark.requirement("R52")
def test_expired_tasks_are_forgotten_without_being_asked_for() -> None:
    async def test(client: httpx.AsyncClient, service: TaskService) -> None:
        async with session(client) as headers:
            await client.post("/mcp", json=creation(), headers={**headers, **SSE})
            assert service.resident_tasks == 1
            await asyncio.sleep(0.2)
            assert service.resident_tasks == 0

    run(test, "receiver.keep_alive.default_s=0.05")


BAD: list[tuple[str, Any, int, int]] = [
    ("not JSON", b"{", 400, -32700),
    ("a batch", b"[]", 400, -32600),
    ("no object", b"5", 400, -32600),
    ("deep nesting", b"[" * 100_000, 400, -32700),
    ("an id of a wrong type", b'{"id": [1], "method": "ping"}', 400, -32600),
    ("a null id", b'{"id": null, "method": "ping"}', 400, -32600),
    ("an unknown method", b'{"id": 1, "method": "x"}', 200, -32601),
    ("a method of a wrong type", b'{"id": 1, "method": {}}', 200, -32601),
    ("a get without an id", b'{"id": 1, "method": "tasks/get", "params": {}}', 200, -32602),
    ("params of a wrong type", b'{"id": 1, "method": "tasks/get", "params": 3}', 200, -32602),
    ("a call of nothing", b'{"id": 1, "method": "tools/call"}', 200, -32602),
    ("a duration of a wrong type", json.dumps(creation(duration_ms="x")).encode(), 200, -32602),  # type: ignore[arg-type]
    ("a negative duration", json.dumps(creation(duration_ms=-1)).encode(), 200, -32602),
    ("an endless duration", json.dumps(creation(duration_ms=1e300)).encode(), 200, -32602),
    ("a duration of NaN", json.dumps(creation(duration_ms=float("nan"))).encode(), 200, -32602),
    ("a huge whole duration", json.dumps(creation(duration_ms=10**400)).encode(), 200, -32602),
    ("an outcome that is a list", json.dumps(creation(outcome=["ok"])).encode(), 200, -32602),
    ("an outcome that is an object", json.dumps(creation(outcome={})).encode(), 200, -32602),
    ("an unknown tool", json.dumps(creation()).replace('"work"', '"play"').encode(), 200, -32602),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "status", "code"), [row[1:] for row in BAD], ids=[r[0] for r in BAD]
)
@pytest.mark.requirement("R06", "R46")
def test_malformed_messages_get_the_right_error(body: bytes, status: int, code: int) -> None:
    async def test(client: httpx.AsyncClient, service: TaskService) -> None:
        async with session(client) as headers:
            answer = await client.post("/mcp", content=body, headers={**headers, **SSE})
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
        assert service.resident_tasks == 0

    run(test)


def test_http_is_checked_before_anything_else() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        assert (await client.post("/mcp", json=ping)).status_code == 400
        unknown = await client.post("/mcp", json=ping, headers={"Mcp-Session-Id": "x"})
        assert unknown.status_code == 404
        async with session(client) as headers:
            assert (await client.get("/mcp", headers=headers)).status_code == 405
            foreign = {**headers, "Origin": "http://evil.example"}
            assert (await client.post("/mcp", json=ping, headers=foreign)).status_code == 403
            local = {**headers, "Origin": "http://localhost:3000"}
            assert (await client.post("/mcp", json=ping, headers=local)).json()["result"] == {}
            long = b"x" * (BODY_BYTES_MAX + 1)
            assert (await client.post("/mcp", content=long, headers=headers)).status_code == 413
            note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            assert (await client.post("/mcp", json=note, headers=headers)).status_code == 202
            assert (await client.delete("/mcp", headers=headers)).status_code == 204
            assert (await client.post("/mcp", json=ping, headers=headers)).status_code == 404

    run(test)


def test_tools_are_listed() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        document = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        async with session(client) as headers:
            answer = (await client.post("/mcp", json=document, headers=headers)).json()
        assert [tool["name"] for tool in answer["result"]["tools"]] == ["work"]

    run(test)


def test_a_cancel_ends_the_task_and_leaves_the_original_request_unanswered() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        note = {"method": "notifications/cancelled", "params": {"requestId": 1}}
        async with session(client) as headers:
            both = {**headers, **SSE}
            pending = asyncio.create_task(
                client.post("/mcp", json=creation(duration_ms=60_000), headers=both)
            )
            await asyncio.sleep(0.05)
            assert (await client.post("/mcp", json=note, headers=headers)).status_code == 202
            answer = await asyncio.wait_for(pending, 5)
            view = (await client.post("/mcp", json=about("tasks/get"), headers=headers)).json()
        assert [event.get("method") for event in events(answer)] == ["notifications/tasks/created"]
        assert view["result"]["status"] == "cancelled"

    run(test)


@pytest.mark.parametrize("params", [{}, {"requestId": [1]}, {"requestId": 99}, 3])
def test_a_cancel_of_nothing_is_taken_in_silence(params: Any) -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        note = {"method": "notifications/cancelled", "params": params}
        async with session(client) as headers:
            assert (await client.post("/mcp", json=note, headers=headers)).status_code == 202

    run(test)


def test_tasks_are_listed_and_deleted() -> None:
    async def test(client: httpx.AsyncClient, service: TaskService) -> None:
        async with session(client) as headers:
            for task_id in "abc":
                await client.post("/mcp", json=creation(task_id), headers={**headers, **SSE})
            listing = {"jsonrpc": "2.0", "id": 1, "method": "tasks/list"}
            page = (await client.post("/mcp", json=listing, headers=headers)).json()["result"]
            rest = {**listing, "params": {"cursor": page["nextCursor"]}}
            last = (await client.post("/mcp", json=rest, headers=headers)).json()["result"]
            gone = (
                await client.post("/mcp", json=about("tasks/delete", "a"), headers=headers)
            ).json()
            after = (
                await client.post("/mcp", json=about("tasks/get", "a"), headers=headers)
            ).json()
            bogus = {**listing, "params": {"cursor": "bogus"}}
            refused = (await client.post("/mcp", json=bogus, headers=headers)).json()
        assert [task["taskId"] for task in page["tasks"]] == ["a", "b"]
        assert [task["taskId"] for task in last["tasks"]] == ["c"]
        assert "nextCursor" not in last
        assert "result" in gone
        assert after["error"]["code"] == refused["error"]["code"] == -32602
        assert service.resident_tasks == 2

    run(test, "receiver.page_size=2")


def test_deleting_a_task_at_work_ends_its_stream() -> None:
    async def test(client: httpx.AsyncClient, service: TaskService) -> None:
        async with session(client) as headers:
            pending = asyncio.create_task(
                client.post("/mcp", json=creation(duration_ms=60_000), headers={**headers, **SSE})
            )
            await asyncio.sleep(0.05)
            await client.post("/mcp", json=about("tasks/delete"), headers=headers)
            answer = await asyncio.wait_for(pending, 5)
        assert len(events(answer)) == 1
        assert service.resident_tasks == 0

    run(test, "receiver.delete=always")


@pytest.mark.requirement("R50", "R53")
def test_limits_and_missing_isolation_are_told_to_who_connects() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        answer = await client.post("/mcp", json={"jsonrpc": "2.0", "id": 7, "method": "initialize"})
        said = answer.json()["result"]["instructions"]
        assert "at most 60 s" in said
        assert "may have 3 open tasks" in said
        assert "every session can see every task" in said

    run(
        test,
        "receiver.keep_alive.max_s=60",
        "receiver.concurrency.per_requester=3",
        "receiver.isolation=none",
    )


@pytest.mark.requirement("R51", "R52")
def test_who_is_over_a_limit_is_told_in_http_and_in_json_when_to_come_back() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        async with session(client) as headers:
            await client.post("/mcp", json=creation(), headers={**headers, **SSE})
            answers = [
                await client.post("/mcp", json=about("tasks/get"), headers=headers)
                for _ in range(3)
            ]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        error = answers[2].json()["error"]
        assert error["code"] == -32603
        assert error["message"] == "Rate limit exceeded"
        assert 9_000 < error["data"]["retryAfter"] <= 10_000
        assert answers[2].headers["Retry-After"] == "10"

    run(test, "receiver.rate_limits.get={ kind = 'token-bucket', rate = 0.1, burst = 2 }")


@pytest.mark.requirement("R04", "R05")
def test_a_method_that_cannot_be_a_task_is_run_as_it_is() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        async with session(client) as headers:
            meta = {"_meta": {TASK_KEY: {"taskId": "t"}}}
            ping = {"jsonrpc": "2.0", "id": 5, "method": "ping", "params": meta}
            answer = await client.post("/mcp", json=ping, headers=headers)
            assert answer.json() == {"jsonrpc": "2.0", "id": 5, "result": {}}
            found = await client.post("/mcp", json=about("tasks/get"), headers=headers)
            assert found.json()["error"]["code"] == -32602

    run(test)


def test_related_metadata_may_stand_only_where_the_examples_have_it() -> None:
    async def test(client: httpx.AsyncClient, _: TaskService) -> None:
        async with session(client) as headers:
            answer = await client.post("/mcp", json=about("tasks/get"), headers=headers)
        assert "data" not in answer.json()["error"]

    run(test, "receiver.related_task=examples")
