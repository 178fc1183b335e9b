import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { readCredential, saveCredential } from '../../secrets/index.ts';
import { StorageError } from '../ports.ts';

const CREDENTIAL = 'environment-key';
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Seals the secret environment values before they are written, so that journal, views and copies of them hold none in the
 * clear. Its key lies where the CLI's credentials lie: in the OS keychain, or in `credentials.json` (mode 0600).
 */
export class SecretBox {
  readonly #home: string;
  #key: Buffer | undefined;
  #making: Promise<Buffer> | undefined;

  private constructor(home: string, key: Buffer | undefined) {
    this.#home = home;
    this.#key = key;
  }

  /** With the key that `home` has; the first secret makes one. */
  static async open(home: string): Promise<SecretBox> {
    const kept = await readCredential(CREDENTIAL, home);
    return new SecretBox(home, kept === undefined ? undefined : Buffer.from(kept, 'hex'));
  }

  /** The text, sealed for `purpose`: under another one it does not open. */
  async seal(text: string, purpose: string): Promise<string> {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, await this.#madeKey(), iv).setAAD(Buffer.from(purpose));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64');
  }

  /** StorageError when the key is lost, or is another one. */
  open(sealed: string, purpose: string): string {
    try {
      const bytes = Buffer.from(sealed, 'base64');
      const decipher = createDecipheriv(CIPHER, this.#key as Buffer, bytes.subarray(0, IV_BYTES))
        .setAAD(Buffer.from(purpose))
        .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
    } catch (error) {
      throw new StorageError(`The key of ${this.#home} does not open this secret: set the secret again.`, {
        cause: error,
      });
    }
  }

  opens(sealed: string, purpose: string): boolean {
    try {
      this.open(sealed, purpose);
      return true;
    } catch {
      return false;
    }
  }

  /** One key, also for secrets that are sealed at the same time. */
  async #madeKey(): Promise<Buffer> {
    if (this.#key !== undefined) return this.#key;
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  /** Kept before it is first used: a crash in between leaves a key that opens nothing yet. */
  async #make(): Promise<Buffer> {
    const made = randomBytes(32);
    await saveCredential(CREDENTIAL, made.toString('hex'), this.#home);
    this.#key = made;
    return made;
  }
}
