import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import Type, { type Static } from 'typebox';
import { homeDir } from '../home.ts';
import { OidcSettings, oidcProblem } from './auth/oidc-settings.ts';
import { isLoopback } from './http/hosts.ts';
import type { TlsFiles } from './http/tls.ts';
import type { LogLevel } from './log.ts';
import { checkOf } from './validate.ts';

/** A flag, variable or setting that is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const Count = Type.Integer({ minimum: 1 });
const AiProvider = Type.Object(
  {
    type: Type.Enum(['openai-compatible', 'anthropic']),
    baseURL: Type.String({ pattern: '^https?://' }),
    apiKey: Type.Optional(Type.String({ minLength: 1 })),
    /** The name of an environment value (`wfx env set`) that holds the key. */
    apiKeyEnv: Type.Optional(Type.String({ minLength: 1 })),
    model: Type.Optional(Type.String({ minLength: 1 })),
    structuredOutputs: Type.Optional(Type.Boolean()),
    speechModel: Type.Optional(Type.String({ minLength: 1 })),
    transcriptionModel: Type.Optional(Type.String({ minLength: 1 })),
  },
  { additionalProperties: false },
);
/** `<WFX_HOME>/settings.json`, all of it optional. Flags and variables come before it. */
const SettingsFile = Type.Object(
  {
    host: Type.Optional(Type.String({ minLength: 1 })),
    port: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535 })),
    insecure: Type.Optional(Type.Boolean()),
    /** Files in PEM; relative ones lie in `<WFX_HOME>`. */
    tls: Type.Optional(
      Type.Object(
        { cert: Type.String({ minLength: 1 }), key: Type.String({ minLength: 1 }) },
        { additionalProperties: false },
      ),
    ),
    /** Origins of web pages that may call the API from a browser, such as `https://ops.example.com`. */
    allowedOrigins: Type.Optional(Type.Array(Type.String({ pattern: '^https?://[^/]+$' }))),
    /** More names that the Host header may have, e.g. behind a proxy. */
    allowedHosts: Type.Optional(Type.Array(Type.String({ minLength: 1 }))),
    oidc: Type.Optional(OidcSettings),
    allowCommands: Type.Optional(Type.Boolean()),
    /** Folder of the functions that domainTask nodes call; default `<WFX_HOME>/handlers`. */
    handlers: Type.Optional(Type.String({ minLength: 1 })),
    /** Bytes of the largest request body and of the largest upload. */
    maxBodyBytes: Type.Optional(Count),
    maxFileBytes: Type.Optional(Count),
    logLevel: Type.Optional(Type.Enum(['debug', 'info', 'warn', 'error', 'silent'])),
    work: Type.Optional(
      Type.Object(
        {
          maxConcurrent: Type.Optional(Count),
          httpDeny: Type.Optional(Type.Array(Type.String())),
          /** Milliseconds. */
          scriptTimeLimit: Type.Optional(Count),
        },
        { additionalProperties: false },
      ),
    ),
    ai: Type.Optional(
      Type.Object(
        { providers: Type.Record(Type.String({ minLength: 1 }), AiProvider) },
        { additionalProperties: false },
      ),
    ),
    smtp: Type.Optional(
      Type.Object(
        {
          host: Type.String({ minLength: 1 }),
          port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
          secure: Type.Optional(Type.Boolean()),
          user: Type.Optional(Type.String()),
          password: Type.Optional(Type.String()),
          from: Type.Optional(Type.String()),
        },
        { additionalProperties: false },
      ),
    ),
    limits: Type.Optional(
      Type.Object(
        {
          /** Node activations in an instance's life. */
          steps: Type.Optional(Count),
          /** Bytes of an instance's variables as JSON. */
          variableBytes: Type.Optional(Count),
          /** Length of a chain of callProcess and subProcess starts. */
          depth: Type.Optional(Count),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);
type SettingsFile = Static<typeof SettingsFile>;

export interface Config {
  readonly dataDir: string;
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly tls: TlsFiles | undefined;
  readonly oidc: OidcSettings | undefined;
  readonly allowCommands: boolean;
  readonly handlersDir: string;
  readonly maxBodyBytes: number;
  readonly maxFileBytes: number;
  readonly logLevel: LogLevel;
  readonly work: NonNullable<SettingsFile['work']>;
  readonly ai: SettingsFile['ai'];
  readonly smtp: SettingsFile['smtp'];
  readonly limits: NonNullable<SettingsFile['limits']>;
  /** File descriptor for one JSON line that says whether the daemon is ready. */
  readonly readyFd: number | undefined;
}

const MiB = 1024 * 1024;
const FLAGS = {
  host: { type: 'string' },
  port: { type: 'string' },
  'data-dir': { type: 'string' },
  'allow-commands': { type: 'boolean' },
  insecure: { type: 'boolean' },
  'tls-cert': { type: 'string' },
  'tls-key': { type: 'string' },
  'ready-fd': { type: 'string' },
} as const;

/** Flags come before variables, variables before the settings file, and that before what is built in. UsageError. */
export function readConfig(args: readonly string[], env: NodeJS.ProcessEnv): Config {
  const flags = readFlags(args);
  const home = homeDir(env);
  const settings = readSettings(join(home, 'settings.json'));
  const host = flags.host ?? settings.host ?? '127.0.0.1';
  const tls = tlsOf(flags, settings, home);
  if (!isLoopback(host) && tls === undefined && (flags.insecure ?? settings.insecure) !== true)
    throw new UsageError(
      `On ${host} others can reach the daemon, and it would speak HTTP without TLS: give it --tls-cert and --tls-key, put a proxy with TLS in front of 127.0.0.1, or accept that with --insecure.`,
    );
  return {
    dataDir: resolve(flags['data-dir'] ?? home),
    host,
    port: numberIn(flags.port, '--port', 65_535) ?? settings.port ?? 7117,
    allowedHosts: settings.allowedHosts ?? [],
    allowedOrigins: settings.allowedOrigins ?? [],
    tls,
    oidc: oidcOf(settings),
    allowCommands: flags['allow-commands'] ?? switchIn(env, 'WFX_ALLOW_COMMANDS') ?? settings.allowCommands ?? false,
    handlersDir: resolve(home, settings.handlers ?? 'handlers'),
    maxBodyBytes: settings.maxBodyBytes ?? MiB,
    maxFileBytes: settings.maxFileBytes ?? 64 * MiB,
    logLevel: settings.logLevel ?? 'info',
    work: settings.work ?? {},
    ai: settings.ai,
    smtp: settings.smtp,
    limits: settings.limits ?? {},
    readyFd: numberIn(flags['ready-fd'], '--ready-fd', 1024),
  };
}

function tlsOf(flags: ReturnType<typeof readFlags>, settings: SettingsFile, home: string): TlsFiles | undefined {
  const { 'tls-cert': cert, 'tls-key': key } = flags;
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError(
      `TLS needs a certificate and its private key: give ${cert === undefined ? '--tls-cert' : '--tls-key'} too.`,
    );
  if (cert !== undefined && key !== undefined) return { cert: resolve(cert), key: resolve(key) };
  return settings.tls && { cert: resolve(home, settings.tls.cert), key: resolve(home, settings.tls.key) };
}

function oidcOf({ oidc }: SettingsFile): OidcSettings | undefined {
  const problem = oidc && oidcProblem(oidc);
  if (problem !== undefined) throw new UsageError(`${problem}.`);
  return oidc;
}

function readFlags(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: FLAGS, strict: true, allowPositionals: false }).values;
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split('. ', 1);
    const known = Object.keys(FLAGS).map((flag) => `--${flag}`);
    throw new UsageError(`${sentence.replace(/\.$/, '')}: the daemon knows ${known.join(', ')}.`);
  }
}

function readSettings(path: string): SettingsFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return {};
    throw new UsageError(`The settings file ${path} cannot be read: ${message}.`);
  }
  try {
    return checkOf<SettingsFile>(SettingsFile, 'settings file')(JSON.parse(text.replace(/^\uFEFF/, '')));
  } catch (error) {
    const { message } = error as Error;
    throw new UsageError(
      error instanceof SyntaxError ? `The settings file ${path} is not JSON: ${message}.` : `${message} It is ${path}.`,
    );
  }
}

function numberIn(text: string | undefined, flag: string, max: number): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,5}$/.test(text) || Number(text) > max)
    throw new UsageError(`${flag} takes a number from 0 to ${max}, not '${text}'.`);
  return Number(text);
}

function switchIn(env: NodeJS.ProcessEnv, name: string): boolean | undefined {
  const value = env[name]?.toLowerCase() ?? '';
  if (value === '') return undefined;
  if (['1', 'true', 'yes', 'on'].includes(value)) return true;
  if (['0', 'false', 'no', 'off'].includes(value)) return false;
  throw new UsageError(`${name} is 1 or 0, not '${env[name]}'.`);
}
