import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';
import { watch } from 'chokidar';

/** Files in PEM: the certificate with what leads to its issuer, and its private key. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

export interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** A name or address that it is for, by which a client on this machine checks it. */
  readonly name: string;
}

/** A certificate or key that can't be used: one sentence that says why. */
export class TlsError extends Error {
  override readonly name = 'TlsError';
}

/** Reads the files and checks that they belong together and are valid now. TlsError. */
export async function readCertificate({ cert: certFile, key: keyFile }: TlsFiles): Promise<Certificate> {
  const [cert, key] = [await readPem(certFile, 'certificate'), await readPem(keyFile, 'private key')];
  const certificate = parsed(cert, certFile);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    const reason = (error as Error).message;
    throw new TlsError(
      /key values mismatch/i.test(reason)
        ? `The private key ${keyFile} is not that of the certificate ${certFile}: give the two that were made together.`
        : `The private key ${keyFile} cannot be used: ${reason}.`,
    );
  }
  const ends = new Date(certificate.validTo);
  if (ends.getTime() < Date.now())
    throw new TlsError(`The certificate ${certFile} ended on ${ends.toISOString().slice(0, 10)}: renew it.`);
  return { cert, key, name: nameOf(certificate) };
}

/**
 * Gives a server the certificate anew whenever one of its files changes, so that a renewal needs no restart; what can't be
 * used is logged, and the one before stays. Returns what ends it.
 */
export function followCertificate(
  server: Server,
  files: TlsFiles,
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void },
  renewed: (certificate: Certificate) => Promise<unknown>,
): () => Promise<void> {
  const watcher = watch([files.cert, files.key], {
    ignoreInitial: true,
    awaitWriteFinish: { stabilityThreshold: 500 },
  });
  const renew = async (): Promise<void> => {
    try {
      const certificate = await readCertificate(files);
      server.setSecureContext({ cert: certificate.cert, key: certificate.key });
      await renewed(certificate);
      log.info({ certificate: files.cert }, 'took the new certificate');
    } catch (error) {
      log.warn({ err: error }, 'a new certificate cannot be used; the one before stays');
    }
  };
  watcher.on('all', () => void renew());
  return () => watcher.close();
}

async function readPem(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new TlsError(
      code === 'ENOENT' ? `There is no ${what} at ${path}.` : `The ${what} ${path} cannot be read: ${message}.`,
    );
  }
}

function parsed(cert: string, path: string): X509Certificate {
  try {
    return new X509Certificate(cert);
  } catch {
    throw new TlsError(`${path} is no certificate in PEM: it begins with -----BEGIN CERTIFICATE-----.`);
  }
}

/** The first name or address in the certificate; of a wildcard, one that it covers. */
function nameOf(certificate: X509Certificate): string {
  const name = /(?:DNS|IP Address):([^,\s]+)/.exec(certificate.subjectAltName ?? '')?.[1];
  return (name ?? /CN=(\S+)/.exec(certificate.subject)?.[1] ?? 'localhost').replace('*', 'wfx');
}
