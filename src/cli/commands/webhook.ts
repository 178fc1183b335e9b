import type { Command } from 'commander';
import { collected, examples } from '../help.ts';
import { limitOf } from '../pages.ts';
import type { Wfx } from '../wfx.ts';

const WEBHOOK = ['<webhook>', 'its name or id: wfx webhook list shows them'] as const;
const ENVIRONMENT = '-e, --environment <name>';

const registrations = () => import('../webhook/registrations.ts');
const deliveries = () => import('../webhook/deliveries.ts');

export function add(command: Command, wfx: Wfx): void {
  addRegistrations(command, wfx);
  addDeliveries(command, wfx);
  addTrigger(command, wfx);
  addTunnel(command, wfx);
}

function addRegistrations(command: Command, wfx: Wfx): void {
  command
    .command('create')
    .description('Make an address that a service can send its events to. The secret is shown this once only.')
    .argument('<name>', 'what flows call it')
    .requiredOption('-p, --provider <name>', 'github, stripe, gitlab, slack, shopify, standard or custom')
    .option('--per-environment', 'one address for DEVELOPMENT and one for PRODUCTION, instead of one for PRODUCTION')
    .option('--secret-file <file>', 'the signing secret, where the service gives it; - reads standard input')
    .option('--no-auth', 'check no signature: whoever knows the address may deliver')
    .option('--algorithm <name>', 'custom: sha1, sha256 or sha512 (default: sha256)')
    .option('--signature-header <name>', 'custom: header of the signature (default: X-Signature)')
    .option('--signature-prefix <text>', 'custom: what stands before the digest')
    .option('--encoding <name>', 'custom: hex or base64 (default: hex)')
    .option('--event-type <path>', 'custom: where the event type is: a path into the body, or header:NAME')
    .option('--event-id <path>', 'custom: where the event id is, by which repeats are known')
    .option('--organization <id>', 'whose it is, when the key in use is system-level')
    .addHelpText(
      'after',
      examples(
        ['wfx webhook create shop-repo -p github', 'makes a secret to enter at GitHub'],
        ['wfx webhook create pay -p stripe --secret-file -', 'takes the secret that Stripe made'],
        ['wfx webhook create crm -p custom --event-type header:X-Event', 'any other sender'],
      ),
    )
    .action(async (name: string, options) => (await registrations()).create(wfx, name, options));
  command
    .command('list')
    .alias('ls')
    .description('List the webhooks.')
    .addHelpText('after', examples(['wfx webhook list', 'and how many flows each starts']))
    .action(async () => (await registrations()).list(wfx));
  command
    .command('show')
    .description('Show a webhook: its addresses, how it is signed, and the flows that it starts.')
    .argument(...WEBHOOK)
    .addHelpText('after', examples(['wfx webhook show shop-repo', 'why does nothing start?']))
    .action(async (name: string) => (await registrations()).show(wfx, name));
  command
    .command('rotate')
    .description('Give a webhook a new secret. The old one holds a while longer, so that no delivery is lost.')
    .argument(...WEBHOOK)
    .option(ENVIRONMENT, 'only the address of DEVELOPMENT or PRODUCTION')
    .option('--secret-file <file>', 'the new secret, where the service gives it; - reads standard input')
    .option('--overlap <duration>', 'how long the old one still holds: 1h, PT0S (default: 24h)')
    .option('--token', 'change the address too; the old one is unknown at once')
    .addHelpText('after', examples(['wfx webhook rotate shop-repo --overlap 1h', 'enter the new one within the hour']))
    .action(async (name: string, options) => (await registrations()).rotate(wfx, name, options));
  command
    .command('delete')
    .alias('rm')
    .description('Remove webhooks with their deliveries. Their addresses are unknown at once.')
    .argument('<webhook...>', 'names or ids')
    .addHelpText('after', examples(['wfx webhook delete shop-repo', 'flows that link to it are left as they are']))
    .action(async (names: readonly string[]) => (await registrations()).remove(wfx, names));
}

function addDeliveries(command: Command, wfx: Wfx): void {
  command
    .command('deliveries')
    .description('List what the addresses were sent and what became of it, newest first; or show one delivery in full.')
    .argument('[webhook]', 'its name or id (default: all)')
    .argument('[delivery-id]', 'show this one with headers and body')
    .option('-f, --follow', 'show deliveries as they come')
    .option('--verdict <verdict>', 'only STARTED, NO_MATCH, DUPLICATE, BAD_SIGNATURE or STALE')
    .option('-n, --limit <number>', 'how many at most', limitOf, 30)
    .addHelpText(
      'after',
      examples(
        ['wfx webhook deliveries --follow', 'watch all webhooks'],
        ['wfx webhook deliveries shop-repo --verdict bad_signature', 'what was rejected, and why'],
        ['wfx webhook deliveries shop-repo DELIVERY_ID', 'headers and body of one'],
      ),
    )
    .action(async (webhook: string | undefined, deliveryId: string | undefined, options) => {
      const { listDeliveries, showDelivery } = await deliveries();
      if (webhook !== undefined && deliveryId !== undefined) await showDelivery(wfx, webhook, deliveryId);
      else await listDeliveries(wfx, webhook, options);
    });
  command
    .command('replay')
    .description('Send a delivery again, as a new one that is never a duplicate.')
    .argument(...WEBHOOK)
    .argument('<delivery-id>', 'wfx webhook deliveries shows it')
    .option(ENVIRONMENT, 'to the flows of DEVELOPMENT or PRODUCTION (default: where it came in)')
    .option('--flow <process-id>', 'only to this flow')
    .option('--version-number <version>', 'to this version (default: the active one)')
    .option('--resign', 'sign it anew and check that, as if it came from outside')
    .addHelpText(
      'after',
      examples(
        ['wfx webhook replay shop-repo DELIVERY_ID', 'try again after mending the flow'],
        ['wfx webhook replay shop-repo DELIVERY_ID -e DEVELOPMENT', 'a real event for the flow in the making'],
      ),
    )
    .action(async (webhook: string, id: string, options) => (await deliveries()).replay(wfx, webhook, id, options));
}

function addTrigger(command: Command, wfx: Wfx): void {
  command
    .command('trigger')
    .description('Send a realistic event to an address, signed as its provider would. Without an event: list them.')
    .argument('<provider>', 'github, stripe, gitlab, slack, shopify, standard or custom')
    .argument('[event]', 'such as push, invoice.paid or orders/create')
    .option('-w, --webhook <webhook>', 'name or id of the webhook (default: the only one of the provider)')
    .option(ENVIRONMENT, 'to the address of DEVELOPMENT or PRODUCTION')
    .option('-s, --set <path=value>', 'change the body; may be given several times', collected)
    .option('--header <name=value>', 'add or change a header; may be given several times', collected)
    .option('--event-id <id>', 'instead of a fresh one')
    .option('--fail <how>', 'bad-signature, stale, duplicate or slow')
    .option('--templates <folder>', 'events of your own: <provider>/<event>.yaml or .json')
    .addHelpText(
      'after',
      examples(
        ['wfx webhook trigger github', 'which events there are'],
        ['wfx webhook trigger github push -s repository.full_name=acme/shop', 'send one'],
        ['wfx webhook trigger stripe invoice.paid --fail stale', 'see it rejected'],
      ),
    )
    .action(async (provider: string, event: string | undefined, options) => {
      const { trigger } = await import('../webhook/trigger.ts');
      await trigger(wfx, provider, event, options);
    });
}

function addTunnel(command: Command, wfx: Wfx): void {
  command
    .command('tunnel')
    .description(
      'Make webhooks of this machine reachable from outside, and show deliveries as they come, until Ctrl-C. Nothing else of the daemon can be reached through it.',
    )
    .argument(
      '[tunnel]',
      'cloudflared, ngrok, smee, a smee channel, ssh:USER@HOST, or a command with {port} in it (default: cloudflared or ngrok, whichever is installed)',
    )
    .option('-w, --webhook <webhook>', 'only of this webhook: its name or id')
    .option(ENVIRONMENT, 'only the address of DEVELOPMENT or PRODUCTION')
    .option('--public-url <url>', 'the address, where the program does not print it')
    .option(
      '--url-pattern <regex>',
      'where a program prints several addresses: which one; the first group, if there is one',
    )
    .option('--remote-port <port>', 'ssh: the port over there (default: 80)')
    .addHelpText(
      'after',
      examples(
        ['wfx webhook tunnel', 'through cloudflared or ngrok'],
        ['wfx webhook tunnel smee -w shop-repo', 'without installing anything; see docs/webhooks.md on signatures'],
        ['wfx webhook tunnel ssh:nokey@localhost.run', 'a service that speaks ssh'],
        [
          'wfx webhook tunnel ssh:me@example.com --remote-port 8080 --public-url https://hooks.example.com',
          'your server',
        ],
        ["wfx webhook tunnel 'bore local {port} --to bore.example.com'", 'any program that prints an address'],
      ),
    )
    .action(async (name: string | undefined, options) =>
      (await import('../webhook/tunnel.ts')).tunnel(wfx, name, options),
    );
}
