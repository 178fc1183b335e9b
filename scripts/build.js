// Bundles the command line and the daemon into dist/. Small pure packages are bundled, so that commands start fast;
// packages with native parts, workers or files of their own stay in node_modules.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { sep } from 'node:path';
import { build } from 'esbuild';
import ts from 'typescript';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const BUNDLED = new Set(['commander', 'typebox', 'env-paths', 'yaml', 'ink', 'react']);
const packageOf = (path) =>
  path
    .split('/')
    .slice(0, path.startsWith('@') ? 2 : 1)
    .join('/');

/** What a bundled package imports for itself is bundled with it. */
const isBundled = ({ path, importer }) =>
  BUNDLED.has(packageOf(path)) || (importer.includes(`${sep}node_modules${sep}`) && !builtinModules.includes(path));

const keepOutside = {
  name: 'keep-outside',
  setup(b) {
    b.onResolve({ filter: /^[^./]/ }, (args) =>
      args.kind === 'entry-point' || isBundled(args) ? undefined : { path: args.path, external: true },
    );
  },
};

/** Ink's way to React's developer tools, which are not installed. */
const noDevtools = {
  name: 'no-devtools',
  setup(b) {
    b.onLoad({ filter: /ink[\\/]build[\\/]devtools\.js$/ }, () => ({ contents: '' }));
  },
};

// Built beside the old one and swapped, so that nobody meets half a build.
const draft = `dist.${process.pid}.tmp`;
await build({
  entryPoints: {
    cli: 'src/cli/main.ts',
    daemon: 'src/daemon/main.ts',
    'script-worker': 'src/daemon/work/script-worker.ts',
    index: 'src/index.ts',
  },
  outdir: draft,
  define: {
    WFX_VERSION: JSON.stringify(version),
    'process.env.NODE_ENV': '"production"',
    'process.env.DEV': '"false"',
  },
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  chunkNames: 'chunks/[name]-[hash]',
  jsx: 'automatic',
  minifySyntax: true,
  plugins: [noDevtools, keepOutside],
  banner: {
    js: "import { createRequire as wfxCreateRequire } from 'node:module';const require = wfxCreateRequire(import.meta.url);",
  },
  logLevel: 'warning',
});
// The types of what handlers import from the package: one file that imports nothing.
const { outputText } = ts.transpileDeclaration(readFileSync('src/index.ts', 'utf8'), { fileName: 'index.ts' });
writeFileSync(`${draft}/index.d.ts`, outputText);
rmSync('dist', { recursive: true, force: true });
renameSync(draft, 'dist');
