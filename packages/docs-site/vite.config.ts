/** How the documents become pages: one template, with its script and style, is filled in once for each document. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import { site } from './site.ts';

export default defineConfig({
  base: './',
  plugins: [site(fileURLToPath(new URL('../..', import.meta.url)))],
  build: {
    target: 'es2022',
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rolldownOptions: { output: { format: 'iife' } },
  },
});
