// How the console is built: into the folder that the program embeds, with names that tell the content, and no file
// that a browser would have to ask another server for.
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: '../crates/ratekeeper-server/console',
    emptyOutDir: true,
    target: 'es2022',
    // Scripts and styles are files of their own, never text within the page: the page's policy forbids that.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  // While it is worked on: the page from here, answers from a server that runs. The host stays, since it is checked.
  server: {
    proxy: {
      '/v1': { target: process.env['RATEKEEPER_URL'] ?? 'http://127.0.0.1:8080', changeOrigin: false },
    },
  },
  test: { include: ['src/**/*.test.ts'] },
});
