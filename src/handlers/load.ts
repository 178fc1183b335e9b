import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { BuildFailure, BuildOptions, OutputFile } from 'esbuild';
import type { Handler } from '../index.ts';

export interface LoadedHandler {
  /** The file's name without its ending: what flows call it. */
  readonly name: string;
  readonly handler: Handler;
  /** The files that it is made of, absolute. */
  readonly files: readonly string[];
}

const ENDINGS = ['.js', '.mjs', '.ts', '.mts'];

/** Whether a file of this name is taken as a handler: JavaScript or TypeScript, no test, no declaration, not hidden. */
export function isHandlerFile(path: string): boolean {
  const name = basename(path);
  return ENDINGS.includes(extname(name)) && !/^\.|\.(d|test|spec)\.m?[jt]s$/.test(name);
}

export const handlerName = (path: string): string => basename(path, extname(path));

/**
 * Loads a handler file: TypeScript is stripped of its types, the files that it imports come along, packages are found from
 * where it lies, and `wfx` is this one. The same file can be loaded again after it changed. Rejects with one sentence.
 */
export async function loadHandler(path: string): Promise<LoadedHandler> {
  const file = resolve(path);
  const { code, files } = await bundled(file);
  const module = await imported(file, code);
  const handler = module['default'];
  if (typeof handler !== 'function')
    throw new Error(`${file} exports no function as default: write \`export default async (input, context) => …\``);
  return { name: handlerName(file), handler: handler as Handler, files };
}

/** Builds under way, in the one process that esbuild has for all of them. */
let building = 0;

async function bundled(file: string): Promise<{ readonly code: string; readonly files: readonly string[] }> {
  const esbuild = await import('esbuild');
  building += 1;
  try {
    const { outputFiles, metafile } = await esbuild.build(optionsFor(file));
    const inputs = Object.keys(metafile.inputs).filter((input) => !input.startsWith('wfx:'));
    return { code: (outputFiles[0] as OutputFile).text, files: inputs.map((input) => resolve(dirname(file), input)) };
  } catch (error) {
    const [first] = (error as BuildFailure).errors ?? [];
    if (first === undefined) throw error;
    const { location } = first;
    const place =
      location === null ? file : `${resolve(dirname(file), location.file)}:${location.line}:${location.column + 1}`;
    throw new Error(`${place}: ${first.text}`);
  } finally {
    building -= 1;
    // Its process is not kept for the next change.
    if (building === 0) await esbuild.stop();
  }
}

const optionsFor = (file: string) =>
  ({
    entryPoints: [file],
    absWorkingDir: dirname(file),
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    sourcemap: 'inline',
    logLevel: 'silent',
    define: {
      'import.meta.url': JSON.stringify(pathToFileURL(file).href),
      __filename: JSON.stringify(file),
      __dirname: JSON.stringify(dirname(file)),
    },
    banner: {
      js: "import { createRequire as wfxRequire } from 'node:module';const require = wfxRequire(import.meta.url);",
    },
    plugins: [ownPackage],
  }) satisfies BuildOptions;

/** `import { defineHandler } from 'wfx'` works wherever the file lies, without an installed package. */
const ownPackage = {
  name: 'wfx',
  setup(build: Parameters<NonNullable<BuildOptions['plugins']>[number]['setup']>[0]) {
    build.onResolve({ filter: /^wfx$/ }, () => ({ path: 'wfx', namespace: 'wfx' }));
    build.onLoad({ filter: /.*/, namespace: 'wfx' }, () => ({
      contents: 'export const defineHandler = (handler) => handler;',
    }));
  },
};

/** Imported from a file beside the source, under a name of its own: what was loaded once is never loaded anew by its name. */
async function imported(file: string, code: string): Promise<Readonly<Record<string, unknown>>> {
  const draft = join(dirname(file), `.${handlerName(file)}.${randomUUID()}.mjs`);
  try {
    await writeFile(draft, code, { mode: 0o600 });
    return await import(pathToFileURL(draft).href);
  } catch (error) {
    throw new Error(`${file} can't be loaded: ${(error as Error).message.replaceAll(draft, file)}`);
  } finally {
    await rm(draft, { force: true });
  }
}
