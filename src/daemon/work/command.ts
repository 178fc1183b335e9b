import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { execa } from 'execa';
import { isObject, type Json, type JsonObject } from '../../engine/json.ts';
import { createProcessGroups, type ProcessGroups } from '../../process-groups.ts';
import { type ExecutorContext, type Service, WorkError } from './executor.ts';
import { keepEnd, keepStart } from './output.ts';

/** Bytes that are kept of each of stdout and stderr; the rest is read and thrown away. */
const MAX_OUTPUT = 1024 * 1024;
/** What a command left running may hold its output open; it is not waited for longer than this after the command's end. */
const OUTPUT_GRACE_MS = 1000;
/** Safety net for commands that never end; flows set `timeout`. */
const LONGEST_MS = 24 * 60 * 60_000;
const MAX_REASON = 500;

/** What a command sees of the daemon's own environment: nothing that could be a secret. */
const INHERITED =
  process.platform === 'win32'
    ? ['PATH', 'PATHEXT', 'SYSTEMROOT', 'COMSPEC', 'TEMP', 'TMP', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA']
    : ['PATH', 'HOME', 'LANG', 'TMPDIR'];

/**
 * `service: command` with `{command: [program, ...arguments], cwd?, environment?, stdin?}`, never through a shell. A
 * relative `cwd` starts at the home folder of the user, which is also the default. Lists and objects in the arguments,
 * the environment and stdin become JSON text.
 * The value is `{exitCode, stdout, stderr, json?}`: texts without their last line break, of stdout the first MiB and of
 * stderr the last; `json` is there when the whole stdout is a JSON object or list.
 * Errors: COMMANDS_DISABLED, COMMAND_INVALID, COMMAND_NOT_FOUND, COMMAND_FAILED (another exit code than 0, or a signal).
 */
export function createCommand(): Service {
  const groups = createProcessGroups();
  return {
    async execute(input, context) {
      if (!context.settings.allowCommands) throw disabled(context.nodeId);
      return run(invocationOf(input, context), groups, context);
    },
    close: () => groups.close(),
  };
}

const disabled = (nodeId: string): WorkError =>
  new WorkError(
    'COMMANDS_DISABLED',
    `node '${nodeId}': this daemon runs no commands; allow it with 'wfx daemon start --allow-commands', or with WFX_ALLOW_COMMANDS=1 in the daemon's environment`,
  );

interface Invocation {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin: string | undefined;
}

function invocationOf(input: JsonObject, context: ExecutorContext): Invocation {
  const { nodeId } = context;
  const command = input['command'];
  const [program = '', ...args] = Array.isArray(command) ? command.map(asText) : [];
  if (program === '') throw invalid(nodeId, 'its command is empty; write it as a list: [program, argument, …]');
  const stdin = input['stdin'];
  const invocation = {
    program,
    args,
    cwd: folderOf(input['cwd'], nodeId),
    environment: environmentOf(input['environment'], context),
    stdin: stdin === undefined || stdin === null ? undefined : asText(stdin),
  };
  const texts = [program, ...args, invocation.cwd, ...Object.values(invocation.environment)];
  if (texts.some((text) => text.includes('\0')))
    throw invalid(nodeId, 'an argument or environment value holds a NUL character, which no program can be given');
  return invocation;
}

function folderOf(value: Json | undefined, nodeId: string): string {
  const folder = resolve(homedir(), value === undefined || value === null ? '' : asText(value));
  // Without this, a missing folder is reported as a missing program.
  if (!folder.includes('\0') && !statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw invalid(nodeId, `its cwd '${folder}' is no folder`);
  return folder;
}

function environmentOf(value: Json | undefined, context: ExecutorContext): Record<string, string> {
  const environment: Record<string, string> = Object.create(null);
  for (const name of INHERITED) {
    const own = process.env[name];
    if (own !== undefined) environment[name] = own;
  }
  for (const [name, content] of Object.entries(isObject(value) ? value : {})) {
    if (name === '' || /[=\0]/.test(name))
      throw invalid(context.nodeId, `'${name}' is no name for an environment value`);
    if (content !== null) environment[name] = asText(content);
  }
  environment['WFX_IDEMPOTENCY_KEY'] = context.idempotencyKey;
  environment['WFX_INSTANCE_ID'] = context.instanceId;
  environment['WFX_NODE_ID'] = context.nodeId;
  return environment;
}

const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

const invalid = (nodeId: string, problem: string): WorkError =>
  new WorkError('COMMAND_INVALID', `node '${nodeId}': ${problem}`);

async function run(invocation: Invocation, groups: ProcessGroups, context: ExecutorContext): Promise<Json> {
  const { program, args, cwd, environment, stdin } = invocation;
  const child = execa(program, args, {
    cwd,
    env: environment,
    extendEnv: false,
    ...(stdin === undefined ? { stdin: 'ignore' as const } : { input: stdin }),
    // Its own process group, so that a stop reaches what the command started.
    detached: process.platform !== 'win32',
    cleanup: false,
    buffer: false,
    reject: false,
    windowsHide: true,
  });
  const stdout = keepStart(child.stdout, MAX_OUTPUT);
  const stderr = keepEnd(child.stderr, MAX_OUTPUT);
  child.on('exit', () => setTimeout(() => closeOutput(child), OUTPUT_GRACE_MS).unref());
  const result = await groups.watch(child, context.signal, LONGEST_MS, child);
  const name = `node '${context.nodeId}': command '${program}'`;
  if (result.exitCode === undefined && result.signal === undefined) throw notStarted(name, result);
  for (const [stream, output] of [
    ['stdout', stdout],
    ['stderr', stderr],
  ] as const)
    if (output.dropped() > 0)
      context.log('WARN', `${name}: ${output.dropped()} bytes of ${stream} beyond 1 MiB were dropped`);
  if (result.exitCode !== 0) throw failed(name, result, context.masked(stderr.text() || stdout.text()));
  const json = stdout.dropped() > 0 ? undefined : jsonOf(stdout.text());
  return { exitCode: 0, stdout: stdout.text(), stderr: stderr.text(), ...(json !== undefined && { json }) };
}

function closeOutput(child: { readonly stdout: { destroy(): void }; readonly stderr: { destroy(): void } }): void {
  child.stdout.destroy();
  child.stderr.destroy();
}

interface Ending {
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly code?: string | undefined;
  readonly cause?: unknown;
}

function notStarted(name: string, { code, cause }: Ending): WorkError {
  if (code === 'ENOENT')
    return new WorkError('COMMAND_NOT_FOUND', `${name} was not found; is it installed, and in the daemon's PATH?`);
  if (code === 'EACCES')
    return new WorkError('COMMAND_NOT_FOUND', `${name} can't be run: it is no program, or permission is missing`);
  if (code === 'E2BIG')
    return new WorkError('COMMAND_INVALID', `${name}: its arguments are too long; pass the data by stdin`);
  return new WorkError(
    'COMMAND_FAILED',
    `${name} could not be started: ${cause instanceof Error ? cause.message : (code ?? 'unknown reason')}`,
  );
}

function failed(name: string, { exitCode, signal }: Ending, output: string): WorkError {
  const ended = signal === undefined ? `ended with exit code ${exitCode}` : `was killed by ${signal}`;
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const reason = lines.slice(-3).join('\n').slice(-MAX_REASON);
  return new WorkError('COMMAND_FAILED', reason === '' ? `${name} ${ended}` : `${name} ${ended}: ${reason}`);
}

function jsonOf(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
