import type { Command } from 'commander';
import { examples } from '../help.ts';
import type { Wfx } from '../wfx.ts';

const CONNECTION = ['<connection>', 'its name or id: wfx connection list shows them'] as const;
const PASSWORD = ['--password-file <file>', 'the password; - reads standard input'] as const;

const email = () => import('../connection/email.ts');

export function add(command: Command, wfx: Wfx): void {
  addEmail(command.command('add').description('Connect an inbox, whose messages start flows.'), wfx);
  command
    .command('list')
    .alias('ls')
    .description('List the connections, and whether they hold.')
    .addHelpText('after', examples(['wfx connection list', 'which inboxes are watched']))
    .action(async () => (await email()).list(wfx));
  command
    .command('show')
    .description('Show a connection, its state and the flows that it starts.')
    .argument(...CONNECTION)
    .addHelpText('after', examples(['wfx connection show invoices', 'why does nothing start?']))
    .action(async (name: string) => (await email()).showOne(wfx, name));
  command
    .command('test')
    .description('Sign in and open the folder; says what is wrong, and exits with 1 then.')
    .argument(...CONNECTION)
    .addHelpText('after', examples(['wfx connection test invoices', 'host, TLS, login and folder']))
    .action(async (name: string) => (await email()).test(wfx, name));
  command
    .command('update')
    .description('Change a connection, such as its password. Another inbox than before is read from its end on.')
    .argument(...CONNECTION)
    .option('--name <name>', 'what flows call it')
    .option('--host <host>', 'the IMAP server')
    .option('--port <number>', 'its port')
    .option('--tls', 'TLS from the start')
    .option('--no-tls', 'STARTTLS instead of TLS from the start')
    .option('--user <user>', 'whose inbox it is')
    .option('--mailbox <folder>', 'the folder')
    .option(...PASSWORD)
    .addHelpText('after', examples(['wfx connection update invoices --password-file -', 'after it was changed']))
    .action(async (name: string, options) => (await email()).update(wfx, name, options));
  command
    .command('delete')
    .alias('rm')
    .description('Remove connections. The inboxes are left as they are.')
    .argument('<connection...>', 'names or ids')
    .addHelpText('after', examples(['wfx connection delete invoices', 'flows that name it are left as they are']))
    .action(async (names: readonly string[]) => (await email()).remove(wfx, names));
}

function addEmail(command: Command, wfx: Wfx): void {
  command
    .command('email')
    .description('Connect an inbox by IMAP. Messages that come from now on start the flows that name it.')
    .argument('<name>', 'what flows call it')
    .requiredOption('--host <host>', 'the IMAP server')
    .requiredOption('--user <user>', 'whose inbox it is')
    .option('--port <number>', 'its port (default: 993, with --no-tls 143)')
    .option('--no-tls', 'STARTTLS instead of TLS from the start')
    .option('--mailbox <folder>', 'the folder (default: INBOX)')
    .option(...PASSWORD)
    .option('--organization <id>', 'whose it is, when the key in use is system-level')
    .addHelpText(
      'after',
      examples(
        ['wfx connection add email invoices --host imap.example.com --user invoices@example.com', 'asks the password'],
        [
          'wfx connection add email hr --host mail.example.com --user hr --mailbox CVs --password-file -',
          'in a script',
        ],
      ),
    )
    .action(async (name: string, options) => (await email()).add(wfx, name, options));
}
