// What ioredis is asked to do by languages.rs, which also says what has to come out.
import { once } from "node:events";
import Redis from "ioredis";

const server = new Redis({ port: Number(process.argv[2]), enableReadyCheck: true });
await once(server, "ready");
console.log("ready", server.status);
console.log("check", JSON.stringify(await server.call("RK.CHECK", "api", "ann")));
const pipeline = server.pipeline();
for (let i = 0; i < 100; i++) pipeline.call("RK.CHECK", "api", "eve");
const admitted = (await pipeline.exec()).map(([error, reply]) => (error ? NaN : reply[0]));
console.log("pipeline", admitted.reduce((a, b) => a + b), "of 100, the first", admitted.indexOf(0));
await server.call("RK.CHECK", "none", "ann").catch((error) => console.log("error", error.message));
console.log("quit", await server.quit());
