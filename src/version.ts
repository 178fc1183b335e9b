import { createRequire } from 'node:module';

/** Set by the build; run from the sources, the version is read from package.json. */
declare const WFX_VERSION: string | undefined;

/** The version of this wfx, as package.json has it. */
export const VERSION: string =
  typeof WFX_VERSION === 'string'
    ? WFX_VERSION
    : (createRequire(import.meta.url)('../package.json') as { version: string }).version;
