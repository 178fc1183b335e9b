import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import hoodiecrow from 'hoodiecrow-imap';
import type { Test } from 'tap';

export const USER = 'testuser';
export const PASSWORD = 'correct horse battery';

/** A mail server with one account, whose folders are INBOX and Archive. */
export interface MailServer {
  readonly port: number;
  /** How many clients are connected. */
  readonly clients: number;
  /** Puts a message into a folder; gives its UID. */
  deliver(raw: string, more?: { readonly folder?: string; readonly date?: Date }): number;
  /** Numbers the messages of INBOX anew, from 1 on; with `copied`, as if all had come just now. */
  renumber(more?: { readonly copied?: boolean }): void;
  /** Loses the messages of INBOX and begins at 1 again, without saying so by its UIDVALIDITY. */
  lose(): void;
  /** Breaks all connections. */
  drop(): void;
  /** Takes no new connections, and breaks those that there are; gives what brings it back. */
  down(): Promise<() => Promise<void>>;
}

export interface ServerOptions {
  readonly plugins?: readonly string[];
  readonly messages?: readonly string[];
  /** Key and certificate: TLS from the start. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

interface Connection {
  readonly socket: Socket;
  readonly inputHandler?: false | ((line: string) => void);
}

/** Its timer of half an hour for IDLE would outlive a client that went away, and with it the test. */
function endIdle(server: { readonly connectionHandlers: ((connection: Connection) => void)[] }): void {
  server.connectionHandlers.push((connection) => {
    connection.socket.prependListener('close', () => {
      const { inputHandler } = connection;
      if (inputHandler) inputHandler('DONE');
    });
  });
}

export async function mailServer(t: Test, options: ServerOptions = {}): Promise<MailServer> {
  const { plugins = ['ID', 'IDLE', 'ENABLE', 'CONDSTORE', 'UNSELECT', 'AUTH-PLAIN'], messages = [], tls } = options;
  const imap = hoodiecrow({
    plugins: [...plugins, endIdle],
    users: { [USER]: { password: PASSWORD } },
    storage: { INBOX: { messages: messages.map((raw) => ({ raw })) }, '': { folders: { Archive: {} } } },
    ...(tls === undefined ? {} : { secureConnection: true, credentials: tls }),
  });
  const sockets = new Set<Socket>();
  imap.server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  imap.listen(0, '127.0.0.1');
  await once(imap.server, 'listening');
  const { port } = imap.server.address() as AddressInfo;
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  t.teardown(() => {
    drop();
    imap.server.close();
  });
  return {
    port,
    get clients() {
      return sockets.size;
    },
    deliver(raw, { folder = 'INBOX', date = new Date() } = {}) {
      return imap.appendMessage(folder, [], date, raw.replace(/\r?\n/g, '\r\n')).message.uid;
    },
    renumber({ copied = false } = {}) {
      const folder = imap.getMailbox('INBOX');
      const before = folder.messages;
      folder.uidvalidity += 1;
      folder.uidnext = 1;
      folder.messages = [];
      for (const { raw, internaldate, flags } of before.reverse()) {
        const message = { raw, flags, internaldate: copied ? new Date() : internaldate };
        folder.messages.push(message);
        imap.processMessage(message, folder);
      }
      drop();
    },
    lose() {
      const folder = imap.getMailbox('INBOX');
      folder.uidnext = 1;
      folder.messages = [];
      drop();
    },
    drop,
    async down() {
      const closed = once(imap.server, 'close');
      imap.server.close();
      drop();
      await closed;
      return async () => {
        imap.listen(port, '127.0.0.1');
        await once(imap.server, 'listening');
      };
    },
  };
}

let sent = 0;
/** A message, each of its own Message-ID; headers that are given come instead of these. */
export function message(headers: Readonly<Record<string, string | undefined>> = {}, body = 'Hello\n'): string {
  sent += 1;
  const all: Readonly<Record<string, string | undefined>> = {
    From: 'Ada <ada@acme.example>',
    To: 'invoices@shop.example',
    Subject: `Message ${sent}`,
    Date: new Date().toUTCString(),
    'Message-ID': `<${sent}@acme.example>`,
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return `${lines.join('\n')}\n\n${body}`;
}
