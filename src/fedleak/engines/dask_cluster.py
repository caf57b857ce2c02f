"""A Dask cluster that is there already. Its workers and its scheduler need fedleak's wheel, and no data."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fedleak.core.errors import InputError, MissingExtraError, RunError
from fedleak.engines.code_version import code_version
from fedleak.engines.engine import DASK, Engine, Made, Results, Work

SECONDS_TO_ANSWER = 10


class DaskCluster(Engine):
    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ImportError:
            raise MissingExtraError.of("distributed", "dask", f"--engine {DASK}{address}") from None
        self._distributed: Any = distributed  # untyped
        self._address = address

    @property
    def words(self) -> str:
        return "workers of a Dask cluster"

    def done(self, works: Sequence[Work], shared: Mapping[str, Any]) -> Results:
        client = self._client()
        try:
            # The result of a task, not data put there: if the worker that has it dies, the scheduler makes it again.
            held = {
                digest: client.submit(_itself, shared[digest], key=f"fedleak-shared-{digest}")
                for digest in {work.shared for work in works}
            }
            running = {
                client.submit(_done, work.do, held[work.shared], key=f"fedleak-work-{work.key}"): work for work in works
            }
            for future in self._distributed.as_completed(list(running)):
                yield running[future], self._result(future)
        finally:
            client.close()  # with it goes what nobody else waits for

    def _client(self) -> Any:
        wanted = f"--engine must name a Dask scheduler that answers, with workers; got {DASK}{self._address}"
        try:
            client = self._distributed.Client(self._address, timeout=SECONDS_TO_ANSWER)
        except (OSError, ValueError) as error:
            raise InputError(f"{wanted}, which does not answer") from error
        try:
            client.wait_for_workers(1, timeout=SECONDS_TO_ANSWER)
            versions = client.run(code_version)
        except TimeoutError as error:
            client.close()
            raise InputError(f"{wanted}, which has none") from error
        except Exception as error:  # a worker without our wheel raises whatever it likes
            client.close()
            raise InputError(f"a worker must have this fedleak; got: {str(error)[:200]}") from error
        for worker, found in versions.items():
            if found != code_version():
                client.close()
                raise InputError(
                    f"workers must have the code of this command, {code_version()}, packages included; "
                    f"got {found} on {worker}"
                )
        return client

    def _result(self, future: Any) -> Made:
        try:
            done: Made = future.result()
        except self._distributed.KilledWorker as error:
            raise RunError(f"a piece ended several workers one after the other: {error}") from error
        except (CancelledError, self._distributed.client.FutureCancelledError) as error:
            raise RunError("the Dask scheduler has gone; the same command goes on when it is back") from error
        if done.code != code_version():
            raise RunError(f"a worker came with other code, {done.code}; what it computed is not kept")
        return done


def _itself(shared: Any) -> Any:
    return shared


def _done(do: Callable[[Any], Made], shared: Any) -> Made:
    return do(shared)
