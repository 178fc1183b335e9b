import { saveCredential } from '../secrets/index.ts';
import type { Stores } from './store/index.ts';
import { freshKey, keyFact } from './store/keys.ts';
import { organizationFact } from './store/organizations.ts';

/**
 * The first start of a data folder makes the organization `default` with an admin key, and a system key (decisions §7). The
 * plain keys go to where the CLI looks for them before the facts that make them valid are appended: a crash in between
 * leaves keys that open nothing, and the next start makes new ones.
 */
export async function bootstrap(
  { organizations, collections }: Stores,
  dataDir: string,
  now: number,
): Promise<boolean> {
  if (organizations.list().length > 0) return false;
  const admin = freshKey({ name: 'admin', organizationId: 'default', roles: ['admin'] }, now);
  const system = freshKey({ name: 'system', organizationId: null, roles: ['system'] }, now);
  await saveCredential('admin', admin.key, dataDir);
  await saveCredential('system', system.key, dataDir);
  await collections.put([
    organizationFact({ organizationId: 'default', name: 'Default', createdAt: new Date(now).toISOString() }),
    keyFact(admin.record),
    keyFact(system.record),
  ]);
  return true;
}
