// What the program needs beside each built file: the same, compressed as well as gzip can be. Also the keeper of the
// console's size: all of it together may not weigh more than `most` bytes compressed.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipAsync } from '@gfx/zopfli';

const root = new URL('../../crates/ratekeeper-server/console/', import.meta.url).pathname;
const most = 100_000;

const files = (folder) =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(path) : [path];
  });

let sum = 0;
for (const path of files(root)) {
  const small = await gzipAsync(readFileSync(path), { numiterations: 15 });
  writeFileSync(`${path}.gz`, small);
  sum += small.length;
}
console.log(`${sum} bytes compressed, of ${most} at most`);
if (sum > most) {
  console.error('the console has grown beyond its size; leave something out');
  process.exit(1);
}
