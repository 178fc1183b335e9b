// Bundles the command line and the daemon into dist/. Small pure packages are bundled, so that commands start fast;
// packages with native parts, workers or files of their own stay in node_modules.
import { rmSync } from 'node:fs';
import { build } from 'esbuild';

const BUNDLED = new Set(['commander', 'typebox', 'env-paths', 'yaml']);
const packageOf = (path) => path.split('/').slice(0, path.startsWith('@') ? 2 : 1).join('/');

const keepOutside = {
  name: 'keep-outside',
  setup(b) {
    b.onResolve({ filter: /^[^./]/ }, (args) =>
      args.kind === 'entry-point' || BUNDLED.has(packageOf(args.path)) ? undefined : { path: args.path, external: true },
    );
  },
};

rmSync('dist', { recursive: true, force: true });
await build({
  entryPoints: { cli: 'src/cli/main.ts', daemon: 'src/daemon/main.ts' },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  chunkNames: 'chunks/[name]-[hash]',
  jsx: 'automatic',
  minifySyntax: true,
  plugins: [keepOutside],
  banner: { js: "import { createRequire as wfxCreateRequire } from 'node:module';const require = wfxCreateRequire(import.meta.url);" },
  logLevel: 'warning',
});
