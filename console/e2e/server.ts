// Servers for the tests: the real program, on a free port of this machine, with a folder of its own; on a real Redis
// where a test wants one.
//
// Invariant: whatever was started is ended, by its own handle.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PROGRAM = process.env['RATEKEEPER'] ?? '../target/debug/ratekeeper';

/** What a server says when it has started, whatever it warns of before. */
const STARTED = /^\{.*\}$/m;

/** How long a process may take to say what is waited for, in milliseconds. */
const START = 20_000;

export class Server {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
    readonly folder: string,
    private readonly args: string[],
  ) {}

  /** With the demo rules, or those of a text, and more arguments. */
  static async start(rules?: string, ...more: string[]): Promise<Server> {
    const folder = mkdtempSync(join(tmpdir(), 'console-'));
    const args = ['serve', '--json', '--log-level', 'error', ...more];
    if (rules !== undefined) {
      writeFileSync(join(folder, 'rules.yaml'), rules);
      args.push('--config', join(folder, 'rules.yaml'));
    }
    const { child, said } = await run(PROGRAM, [...args, '--listen', '127.0.0.1:0'], STARTED);
    return new Server(JSON.parse(STARTED.exec(said)?.[0] ?? '{}').listen.api, child, folder, args);
  }

  /** A file in its folder. */
  static token(folder: string, name: string, text: string): string {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  /** Ends it at once, as a crash would. */
  async kill(): Promise<void> {
    await ended(this.child);
  }

  /** Another one at the same address. */
  async again(): Promise<Server> {
    const { host } = new URL(this.url);
    const { child } = await run(PROGRAM, [...this.args, '--listen', host], STARTED);
    return new Server(this.url, child, this.folder, this.args);
  }

  async stop(): Promise<void> {
    await ended(this.child);
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Asks it for something that should be answered with 200. */
  async ask(path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST'): Promise<any> {
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers: { 'Content-Type': 'application/json' },
      ...json,
    });
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  /** Checks a key so often, one after the other. */
  async check(rule: string, key: string | string[], times = 1): Promise<any> {
    let last: unknown;
    for (let sent = 0; sent < times; sent += 1) last = await this.ask('/v1/check', { rule, key });
    return last;
  }
}

/** A Redis of its own. */
export class Redis {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(): Promise<Redis> {
    const port = await freePort();
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    const { child } = await run('redis-server', args, /Ready to accept connections/);
    return new Redis(`redis://127.0.0.1:${port}/0`, child);
  }

  async stop(): Promise<void> {
    await ended(this.child);
  }
}

function freePort(): Promise<number> {
  return new Promise((found, failed) => {
    const server = createServer();
    server.on('error', failed);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address ? address.port : 0;
      server.close(() => found(port));
    });
  });
}

/** What runs; a test that fails ends its worker, and with it whatever it had started. */
const running = new Set<ChildProcess>();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** Starts a program, and waits until it says something like this. */
function run(program: string, args: string[], ready: RegExp): Promise<{ child: ChildProcess; said: string }> {
  return new Promise((started, failed) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    child.on('exit', () => running.delete(child));
    let said = '';
    const late = setTimeout(() => failed(new Error(`${program} said ${said || 'nothing'}`)), START);
    const hear = (piece: Buffer) => {
      said += piece.toString();
      if (ready.test(said)) {
        clearTimeout(late);
        started({ child, said });
      }
    };
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
    child.on('error', failed);
    child.on('exit', (code) => failed(new Error(`${program} ended with ${code}: ${said}`)));
  });
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((done) => {
    if (child.exitCode !== null || child.signalCode !== null) return done();
    child.on('exit', () => done());
    child.kill('SIGKILL');
  });
}
