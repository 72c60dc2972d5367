import { vitePreprocess } from '@sveltejs/vite-plugin-svelte';

export default {
  preprocess: vitePreprocess({ script: false }),
  compilerOptions: {
    runes: true,
    // The version is told by the server; the page need not say whose it is.
    discloseVersion: false,
    // Short, since it is in every rule and every element; of the file's place, so that it is the same everywhere.
    cssHash: ({ hash, filename }) => `s${hash(filename.replace(/^.*\/console\/src\//, '')).slice(0, 4)}`,
  },
};
