import { accessSync, constants, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { isOpenToAll } from '../../home.ts';
import { backend, readCredential } from '../../secrets/index.ts';
import { VERSION } from '../../version.ts';
import { findDaemon, healthAt } from '../daemon/found.ts';
import { DEFAULT_PORT } from '../daemon/start.ts';
import { EXIT } from '../exit.ts';
import { examples } from '../help.ts';
import type { Settings } from '../settings.ts';
import type { Wfx } from '../wfx.ts';

interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly message: string;
  /** What to do, when it is not well. */
  readonly advice?: string;
}

export function add(command: Command, wfx: Wfx): void {
  command
    .description('Check that this machine has what wfx needs. Changes nothing; exits with 1 when something is wrong.')
    .addHelpText('after', examples(['wfx doctor', 'what is well, what is not, and what to do']))
    .action(() => doctor(wfx));
}

async function doctor(wfx: Wfx): Promise<void> {
  const { settings, io } = wfx;
  const findings = [
    node(),
    data(settings),
    space(settings),
    ...(await daemon(settings)),
    ...(await credentials(settings)),
    clock(),
  ];
  const ok = findings.every((finding) => finding.ok);
  if (wfx.json) io.json({ ok, version: VERSION, findings });
  else
    for (const finding of findings) {
      io.print(
        `${finding.ok ? io.paint('green', '✓') : io.paint('red', '✗')} ${finding.check.padEnd(12)} ${finding.message}`,
      );
      if (finding.advice !== undefined) io.print(`  ${' '.repeat(12)} → ${finding.advice}`);
    }
  process.exitCode = ok ? EXIT.ok : EXIT.failed;
}

function node(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const ok = major > 20 || (major === 20 && minor >= 19);
  const advice = ok ? {} : { advice: 'install Node.js 20.19 or newer' };
  return { check: 'node', ok, message: `Node.js ${process.versions.node}, wfx ${VERSION}`, ...advice };
}

/** Tries to write, as permissions alone don't tell of a read-only or full disk. */
function data({ dataDir }: Settings): Finding {
  const check = 'data folder';
  const there = existsSync(dataDir);
  try {
    if (!there) {
      accessSync(existingParent(dataDir), constants.W_OK);
      return { check, ok: true, message: `${dataDir} (made at the first start)` };
    }
    rmSync(mkdtempSync(join(dataDir, 'doctor-')), { recursive: true });
    if (isOpenToAll(dataDir))
      return { check, ok: false, message: `everybody may write to ${dataDir}`, advice: `chmod 700 ${dataDir}` };
    return { check, ok: true, message: `${dataDir} can be written to` };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return {
      check,
      ok: false,
      message: `${dataDir} can't be written to (${code})`,
      advice: 'mend its permissions, or choose another one with WFX_HOME',
    };
  }
}

function existingParent(path: string): string {
  const parent = dirname(path);
  return existsSync(parent) || parent === path ? parent : existingParent(parent);
}

const ENOUGH_BYTES = 200 * 1024 * 1024;

function space({ dataDir }: Settings): Finding {
  const { bavail, bsize } = statfsSync(existsSync(dataDir) ? dataDir : existingParent(dataDir));
  const free = bavail * bsize;
  const ok = free >= ENOUGH_BYTES;
  const message = `${(free / 1024 ** 3).toFixed(1)} GiB free`;
  return {
    check: 'disk',
    ok,
    message,
    ...(ok ? {} : { advice: 'make room: what does not fit on the disk is refused' }),
  };
}

async function daemon({ address, dataDir }: Settings): Promise<Finding[]> {
  const check = 'daemon';
  if (address.kind !== 'local') return [remote(address.url, (await healthAt({ url: address.url })).version)];
  const { state, daemon } = await findDaemon(dataDir);
  if (daemon === undefined)
    return [{ check, ok: true, message: `not running; wfx run starts it, at port ${DEFAULT_PORT} where that is free` }];
  if (state === 'silent')
    return [
      {
        check,
        ok: false,
        message: `process ${daemon.pid} does not answer at ${daemon.url}`,
        advice: 'look at wfx daemon logs',
      },
    ];
  const same = daemon.version === VERSION;
  const message = `wfx ${daemon.version} at ${daemon.url} (process ${daemon.pid})`;
  return [
    {
      check,
      ok: same,
      message,
      ...(same ? {} : { advice: `this command is wfx ${VERSION}: wfx daemon stop && wfx daemon start` }),
    },
  ];
}

function remote(url: string, version: string | undefined): Finding {
  if (version === undefined)
    return {
      check: 'daemon',
      ok: false,
      message: `nothing answers at ${url}`,
      advice: 'check --url, WFX_URL or wfx context list',
    };
  return { check: 'daemon', ok: true, message: `wfx ${version} at ${url}` };
}

async function credentials({ dataDir, apiKey }: Settings): Promise<Finding[]> {
  const { detail, exposed } = await backend(dataDir);
  const admin = await readCredential('admin', dataDir).catch((error: Error) => error);
  if (admin instanceof Error) return [{ check: 'credentials', ok: false, message: admin.message }];
  const there = admin === undefined ? 'none yet; the first start of the daemon makes them' : 'the local keys are there';
  const message = `${there}; kept in ${detail}${apiKey === undefined ? '' : '; WFX_API_KEY is used instead'}`;
  if (!exposed) return [{ check: 'credentials', ok: true, message }];
  return [
    {
      check: 'credentials',
      ok: false,
      message,
      advice: `others can read them: chmod 600 ${join(dataDir, 'credentials.json')}`,
    },
  ];
}

/** A machine whose clock lost its battery starts in the past, and every timer with it. */
function clock(): Finding {
  const now = new Date();
  const ok = now.getUTCFullYear() >= 2025;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return {
    check: 'clock',
    ok,
    message: `${now.toISOString()}, time zone ${zone}`,
    ...(ok ? {} : { advice: 'set the clock: timers and schedules need it' }),
  };
}
