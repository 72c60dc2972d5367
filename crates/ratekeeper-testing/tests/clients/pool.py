# What redis-py is asked to do by languages.rs, which also says what has to come out.
import sys
from concurrent.futures import ThreadPoolExecutor

import redis

pool = redis.BlockingConnectionPool(
    host="127.0.0.1", port=int(sys.argv[1]), protocol=0, decode_responses=True, max_connections=4, timeout=30
)
server = redis.Redis(connection_pool=pool)


def check(key):
    return server.execute_command("RK.CHECK", "api", key)


print("ping", server.ping())
print("check", check("ann"))
print("permit", len(server.execute_command("RK.CHECK", "jobs", "ann")[7]))
with ThreadPoolExecutor(10) as threads:
    admitted = sum(reply[0] for reply in threads.map(check, ["bob"] * 100))
print("pool", admitted, "of 100 by at most", pool.max_connections, "connections")
with server.pipeline(transaction=False) as pipeline:
    for _ in range(100):
        pipeline.execute_command("RK.CHECK", "api", "eve")
    admitted = [reply[0] for reply in pipeline.execute()]
print("pipeline", sum(admitted), "of 100, the first", admitted.index(0))
try:
    server.execute_command("RK.CHECK", "none", "ann")
except redis.ResponseError as error:
    print("error", error)
