import { Command, CommanderError, Option } from 'commander';
import { closeConnections } from '../client/index.ts';
import { VERSION } from '../version.ts';
import { COMMANDS, COMPLETE, type CommandEntry } from './commands/index.ts';
import { EXIT } from './exit.ts';
import { failureOf } from './failure.ts';
import { Io } from './io.ts';
import { Wfx } from './wfx.ts';

const EXITS = `Exit codes:
  0  done; the run Completed          4  not allowed (401, 403)
  1  the run Failed                   5  the daemon can't be reached or can't answer
  2  wrong usage or an invalid flow   124  --timeout passed; the run goes on
  3  the run was Cancelled            130  Ctrl-C; the run goes on

Settings: WFX_HOME (data and settings), WFX_URL, WFX_API_KEY, WFX_ENVIRONMENT, NO_COLOR,
  WFX_KEYCHAIN=off (keep credentials in a file, not in the keychain)

Examples:
  wfx flow init hello.yaml      write a first flow
  wfx run hello.yaml            run it, and answer what it asks
  wfx instance list             see what ran
  wfx COMMAND --help            more about a command, with examples`;

/** Runs one command line; the process ends with its exit code when all of it is written out. */
export async function main(argv: readonly string[]): Promise<void> {
  const io = new Io(process, process.env);
  io.stdout.on('error', (error) => endAtBrokenOutput(io, error));
  io.stderr.on('error', (error) => endAtBrokenNotes(error));
  process.exitCode = await exitOf(io, argv);
  closeConnections();
  // Whatever still holds the process (a keychain that hangs, a raw terminal) must not keep a finished command alive.
  process.stdout.write('', () => {
    if (process.stdout.errored !== null) endAtBrokenOutput(io, process.stdout.errored);
    process.stderr.write('', () => process.exit());
  });
}

async function exitOf(io: Io, argv: readonly string[]): Promise<number> {
  try {
    const program = await programFor(argv, io);
    if (argv.length === 0) program.outputHelp();
    else await program.parseAsync([...argv], { from: 'user' });
    return Number(process.exitCode ?? EXIT.ok);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const { exit, message, hint, details = [] } = failureOf(error);
    io.note(`${io.paintNote('red', 'error:')} ${message}`);
    for (const detail of details) io.note(`  - ${detail}`);
    if (hint !== undefined) io.note(`  ${io.paintNote('dim', 'hint:')} ${hint}`);
    return exit;
  }
}

/** The program with the one command loaded that `argv` names; the others are known by name only. Completion needs them all. */
async function programFor(argv: readonly string[], io: Io): Promise<Command> {
  const program = bareProgram(io);
  const wfx = new Wfx(io, () => program.opts());
  const chosen = chosenCommand(argv);
  for (const entry of COMMANDS) {
    const command = declared(program, entry);
    if (entry.name === chosen || chosen === COMPLETE) (await entry.load()).add(command, wfx);
  }
  return program;
}

function declared(program: Command, { name, summary, group, hidden }: CommandEntry): Command {
  return program
    .command(name, { hidden: hidden === true })
    .summary(summary)
    .description(`${summary}.`)
    .helpGroup(group);
}

function bareProgram(io: Io): Command {
  return new Command('wfx')
    .description('Durable workflows from YAML files.')
    .version(VERSION, '-V, --version', 'show the version')
    .addOption(
      new Option('--url <url>', 'address of the daemon (default: WFX_URL, the context in use, or the local one)'),
    )
    .addOption(new Option('--data-dir <folder>', 'data folder of the local daemon (default: WFX_HOME)'))
    .addOption(new Option('-o, --output <format>', 'how results are printed').choices(['text', 'json']).default('text'))
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .addHelpText('after', `\n${EXITS}`)
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      outputError: (text, write) => write(`${io.paintNote('red', 'error:')} ${text.replace(/^error: /, '')}`),
    })
    .showHelpAfterError('  hint: add --help to see what the command takes')
    .exitOverride();
}

const WITH_VALUE = new Set(['--url', '--data-dir', '-o', '--output']);

/** The first word that is neither an option nor an option's value; after `help` the one that help is asked for. */
function chosenCommand(argv: readonly string[]): string | undefined {
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    if (WITH_VALUE.has(word)) at += 1;
    else if (!word.startsWith('-') && word !== 'help') return word;
  }
  return undefined;
}

/** `wfx … | head` closes our stdout: then there is nobody left to tell anything. A result that is lost otherwise is a failure. */
function endAtBrokenOutput(io: Io, error: NodeJS.ErrnoException): never {
  endAtBrokenNotes(error);
  io.note(`${io.paintNote('red', 'error:')} The result can't be written: ${error.message}.`);
  process.exit(EXIT.failed);
}

/** Where only notes are lost, on a full disk, the command goes on. */
function endAtBrokenNotes({ code }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') process.exit(process.exitCode ?? EXIT.ok);
}
