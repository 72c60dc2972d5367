// Whether the files that the program embeds are what the sources make: builds them anew, and compares.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

const own = new URL('../../crates/ratekeeper-server/console/', import.meta.url).pathname;
const built = mkdtempSync(join(tmpdir(), 'console-built-'));

const files = (root, folder = root) =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(root, path) : [relative(root, path)];
  });

try {
  execFileSync('npx', ['vite', 'build', '--outDir', built, '--logLevel', 'warn'], { stdio: 'inherit' });
  // Compressed files are compared with these by a test of the program.
  const [here, there] = [files(own).filter((name) => !name.endsWith('.gz')), files(built)];
  const differs = (name) =>
    !here.includes(name) || !readFileSync(join(own, name)).equals(readFileSync(join(built, name)));
  const wrong = [...there.filter(differs), ...here.filter((name) => !there.includes(name))];
  if (wrong.length > 0) {
    console.error(
      `not what the sources make: ${wrong.join(', ')}; run \`npm run build\` in console/, and commit`,
    );
    process.exit(1);
  }
  console.log(`${here.length} files are what the sources make`);
} finally {
  rmSync(built, { recursive: true, force: true });
}
