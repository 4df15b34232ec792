"""The work of benches/client.rs, done by Python's `openai` async client: openai_client.py URL CALLS CONCURRENCY."""
import asyncio
import sys
import time

import httpx
import openai

SYSTEM = "Walk the tree of the video with the tools and answer the question. " * 30


async def main(url: str, calls: int, concurrency: int) -> None:
    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    http = httpx.AsyncClient(limits=limits, timeout=60)
    client = openai.AsyncOpenAI(base_url=url, api_key="none", http_client=http, max_retries=0)
    numbers = iter(range(calls))
    latencies = []

    async def worker() -> None:
        for number in numbers:
            started = time.perf_counter()
            messages = [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": f"Question {number}: which one?"},
            ]
            reply = await client.chat.completions.create(model="bench", messages=messages, max_tokens=2048, seed=1)
            assert reply.usage.completion_tokens == 40
            latencies.append(time.perf_counter() - started)

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    elapsed = time.perf_counter() - started
    latencies.sort()
    p50, p99 = (latencies[len(latencies) * share // 100] * 1e3 for share in (50, 99))
    name = f"openai {openai.__version__}, Python {sys.version.split()[0]}"
    print(f"{name:<22} {calls / elapsed:>7.0f} calls/s  p50 {p50:.1f} ms  p99 {p99:.1f} ms")


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
