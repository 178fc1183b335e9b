import type { Client } from '../../client/index.ts';
import type { EmailConnection, EmailConnectionTest } from '../../contract/types.ts';
import { shownTime } from '../../terminal/shown.ts';
import { EXIT, usage } from '../exit.ts';
import { firstItems } from '../pages.ts';
import { secretIn } from '../secret-file.ts';
import { printFields, printTable } from '../table.ts';
import type { Wfx } from '../wfx.ts';

export interface AddOptions {
  readonly host: string;
  readonly user: string;
  readonly port?: string;
  /** `--no-tls`. */
  readonly tls: boolean;
  readonly mailbox?: string;
  readonly passwordFile?: string;
  readonly organization?: string;
}
export interface UpdateOptions {
  readonly name?: string;
  readonly host?: string;
  readonly user?: string;
  readonly port?: string;
  readonly tls?: boolean;
  readonly mailbox?: string;
  readonly passwordFile?: string;
}

export async function add(wfx: Wfx, name: string, options: AddOptions): Promise<void> {
  const { host, user, tls, mailbox, organization } = options;
  const body = {
    name,
    host,
    user,
    tls,
    ...portIn(options.port),
    ...(mailbox === undefined ? {} : { mailbox }),
    ...(organization === undefined ? {} : { organizationId: organization }),
    password: await passwordFrom(wfx, options.passwordFile, user),
  };
  const client = await wfx.client();
  const connection = await client.call('createEmailConnection', { body });
  await report(wfx, client, connection);
  if (!wfx.json) wfx.io.note(`A flow is started by it with: triggers: [{ type: email, connection: ${name} }]`);
}

export async function update(wfx: Wfx, idOrName: string, options: UpdateOptions): Promise<void> {
  const client = await wfx.client();
  const { id: connectionId } = await found(client, idOrName);
  const { passwordFile, port, ...rest } = options;
  const password = passwordFile === undefined ? {} : { password: secretIn(passwordFile, 'password') };
  const body = { ...rest, ...portIn(port), ...password };
  if (Object.keys(body).length === 0) throw usage('Nothing is to be changed.', 'wfx connection update --help');
  await report(wfx, client, await client.call('updateEmailConnection', { params: { connectionId }, body }));
}

/** Shows a connection that was made or changed, and whether it works: what does not is kept, and can be mended. */
async function report(wfx: Wfx, client: Client, connection: EmailConnection): Promise<void> {
  const test = await client.call('testEmailConnection', { params: { connectionId: connection.id } });
  const now = await client.call('getEmailConnection', { params: { connectionId: connection.id } });
  if (wfx.json) wfx.io.json({ ...now, test });
  else {
    show(wfx, now);
    tell(wfx, connection, test);
  }
  if (!test.ok) process.exitCode = EXIT.failed;
}

export async function list(wfx: Wfx): Promise<void> {
  const items = await all(await wfx.client());
  if (wfx.json) return wfx.io.json({ items, nextCursor: null });
  printTable(
    wfx.io,
    items,
    [
      { title: 'NAME', text: ({ name }) => name },
      { title: 'INBOX', text: ({ user, host, mailbox }) => `${user} at ${host}, ${mailbox}` },
      { title: 'FLOWS', text: ({ flows }) => String(new Set(flows.map(({ processId }) => processId)).size) },
      {
        title: 'STATE',
        text: ({ status }) => status.state,
        style: ({ status }) => (status.state === 'CONNECTED' ? 'green' : 'yellow'),
      },
      { title: 'PROBLEM', text: ({ status }) => status.problem ?? '-' },
    ],
    'There are no connections. Make one: wfx connection add email NAME --host HOST --user USER',
  );
}

export async function showOne(wfx: Wfx, idOrName: string): Promise<void> {
  const connection = await found(await wfx.client(), idOrName);
  if (wfx.json) wfx.io.json(connection);
  else show(wfx, connection);
}

/** Exits with 1 when it does not work. */
export async function test(wfx: Wfx, idOrName: string): Promise<void> {
  const client = await wfx.client();
  const connection = await found(client, idOrName);
  const result = await client.call('testEmailConnection', { params: { connectionId: connection.id } });
  if (wfx.json) wfx.io.json(result);
  else tell(wfx, connection, result);
  if (!result.ok) process.exitCode = EXIT.failed;
}

export async function remove(wfx: Wfx, idsOrNames: readonly string[]): Promise<void> {
  const client = await wfx.client();
  const items: EmailConnection[] = [];
  for (const one of idsOrNames) items.push(await found(client, one));
  for (const { id: connectionId } of items) await client.call('deleteEmailConnection', { params: { connectionId } });
  if (wfx.json) wfx.io.json({ items });
  else for (const { name } of items) wfx.io.note(`${name} is removed; its inbox is left as it is.`);
}

function show({ io }: Wfx, connection: EmailConnection): void {
  const { status, tls, mailbox, user, host, port } = connection;
  io.print(io.paint('bold', connection.name));
  printFields(io, [
    ['id', connection.id],
    ['server', `${host}:${port}, ${tls ? 'TLS from the start' : 'no TLS from the start'}`],
    ['inbox', `${mailbox} of ${user}`],
    ['state', `${status.state} since ${shownTime(status.since)}`],
    ['problem', status.problem ?? undefined],
    ['tried again', status.retryAt === null ? undefined : shownTime(status.retryAt)],
    ...connection.flows.map((flow) => ['starts', startText(flow)] as const),
  ]);
}

function startText(flow: EmailConnection['flows'][number]): string {
  const wanted = [
    ...(flow.subjectContains === null ? [] : [`subject contains “${flow.subjectContains}”`]),
    ...(flow.senderMatches === null ? [] : [`sender matches ${flow.senderMatches}`]),
  ];
  const when = wanted.length === 0 ? 'every message' : wanted.join(', ');
  return `${flow.name} (${flow.processId}) version ${flow.version} in ${flow.environment}: ${when}`;
}

function tell({ io }: Wfx, { user, mailbox }: EmailConnection, { ok, problem, messages }: EmailConnectionTest): void {
  if (ok) io.note(`${io.paintNote('green', '✓')} ${mailbox} of ${user} can be read; messages in it: ${messages ?? 0}.`);
  else io.note(`${io.paintNote('red', '✗')} ${problem}`);
}

const all = async (client: Client): Promise<readonly EmailConnection[]> =>
  (await firstItems<EmailConnection>(100_000, (query) => client.call('listEmailConnections', { query }))).items;

/** By its id or its name. */
async function found(client: Client, idOrName: string): Promise<EmailConnection> {
  const items = await all(client);
  const connection = items.find(({ id }) => id === idOrName) ?? items.find(({ name }) => name === idOrName);
  if (connection !== undefined) return connection;
  throw usage(`There is no connection “${idOrName}”.`, 'wfx connection list shows them');
}

function portIn(text: string | undefined): { readonly port?: number } {
  if (text === undefined) return {};
  if (/^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535) return { port: Number(text) };
  throw usage(`--port takes a number from 1 to 65535, not “${text}”.`);
}

/** Asked for where somebody sits at the terminal. */
async function passwordFrom({ io }: Wfx, file: string | undefined, user: string): Promise<string> {
  if (file !== undefined) return secretIn(file, 'password');
  if (!io.interactive)
    throw usage('The password is missing.', 'give --password-file FILE, or - to read standard input');
  const { isCancel, password } = await import('@clack/prompts');
  const answer = await password({ message: `Password of ${user}`, input: io.stdin, output: io.stderr });
  if (isCancel(answer)) throw Object.assign(new Error('Interrupted.'), { name: 'AbortError' });
  return answer;
}
