import type { SignedIn } from '../auth/sign-in.ts';

/** The pages run nothing, load nothing, and are shown in no frame. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

export function signedInPage({ caller, token, expiresIn }: SignedIn): string {
  const { name, organizationId, roles } = caller;
  const where = organizationId === undefined ? 'system-level' : `organization ${organizationId}`;
  return page(
    `Signed in as ${name}`,
    `<p>${escaped(where)}; ${escaped(roles.length === 0 ? 'no roles' : roles.join(', '))}</p>
<p>For the command line, <code>wfx login</code> is all you need. Other programs send this token as
<code>Authorization: Bearer …</code>; it is valid for ${Math.floor(expiresIn / 60)} minutes.</p>
<textarea readonly rows="8" aria-label="Bearer token">${escaped(token)}</textarea>`,
  );
}

export const failurePage = (message: string): string =>
  page('Not signed in', `<p>${escaped(message)}</p>\n<p><a href="/auth/login">Try again</a></p>`);

const page = (title: string, content: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} · wfx</title>
<style>
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 10vh auto; padding: 0 1rem }
textarea { width: 100%; box-sizing: border-box; font: .8rem/1.4 ui-monospace, monospace; word-break: break-all }
</style>
<main>
<h1>${escaped(title)}</h1>
${content}
</main>
</html>
`;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
