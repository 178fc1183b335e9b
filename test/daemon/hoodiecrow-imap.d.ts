declare module 'hoodiecrow-imap' {
  import type { Server } from 'node:net';

  interface Message {
    readonly raw: string;
    readonly internaldate: Date | string;
    readonly flags: string[];
  }
  interface Folder {
    uidvalidity: number;
    uidnext: number;
    messages: Message[];
  }
  interface Hoodiecrow {
    readonly server: Server;
    listen(port: number, host: string): void;
    getMailbox(path: string): Folder;
    appendMessage(
      path: string,
      flags: string[],
      date: Date,
      raw: string,
    ): { readonly message: { readonly uid: number } };
    /** Gives a message of a folder its UID. */
    processMessage(message: Message, folder: Folder): void;
  }
  export default function hoodiecrow(options: object): Hoodiecrow;
}
