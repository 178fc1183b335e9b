import type { Command } from 'commander';
import { readCredential } from '../../secrets/index.ts';
import { CliError, EXIT, usage } from '../exit.ts';
import { examples } from '../help.ts';
import type { Wfx } from '../wfx.ts';

export function add(command: Command, wfx: Wfx): void {
  command
    .description('Print the API key or the bearer token that commands send, for use in scripts and other tools.')
    .option('--system', "print the local daemon's system-level key, which makes organizations and further system keys")
    .addHelpText(
      'after',
      examples(
        ['curl -H "X-API-Key: $(wfx token)" http://127.0.0.1:7117/process/list', 'call the API by hand'],
        ['WFX_API_KEY=$(wfx token --system) wfx key create ops --role system', 'make a further system key'],
      ),
    )
    .action((options: { readonly system?: true }) => token(wfx, options.system === true));
}

async function sent(wfx: Wfx): Promise<string | undefined> {
  const credential = await wfx.credential();
  return credential && ('token' in credential ? credential.token : credential.apiKey);
}

async function token(wfx: Wfx, system: boolean): Promise<void> {
  const { address, dataDir } = wfx.settings;
  if (system && address.kind !== 'local')
    throw usage(
      '--system prints a key of the local daemon, and commands go to another one now.',
      'leave out --url and WFX_URL, or: wfx context use local',
    );
  const key = system ? await readCredential('system', dataDir) : await sent(wfx);
  if (key === undefined)
    throw new CliError(
      EXIT.notAllowed,
      address.kind === 'local' ? `There is no key in ${dataDir} yet.` : `No key is known for ${address.url}.`,
      address.kind === 'local'
        ? 'the first start of the daemon makes it: wfx daemon start'
        : 'set WFX_API_KEY, or sign in: wfx login',
    );
  if (wfx.json) wfx.io.json({ token: key });
  else wfx.io.print(key);
}
