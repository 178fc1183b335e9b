import { ApiError, type Client, plain } from '../client/index.ts';
import type { Environment, Published } from '../contract/types.ts';
import type { SourceFile } from './flow-file.ts';
import { showProblems } from './problems.ts';
import type { Wfx } from './wfx.ts';

/** Publishes a flow file that compiled here. Its warnings are shown when a version was made, not at every run of it. */
export async function publish(
  wfx: Wfx,
  client: Client,
  source: SourceFile,
  environment: Environment | undefined,
): Promise<Published> {
  const query = environment === undefined ? {} : { environment };
  try {
    const published = await client.call('publishFlow', { query, body: source.text });
    if (!published.unchanged) showProblems(wfx.io, source, published.problems);
    return published;
  } catch (error) {
    // A daemon of another version may refuse what compiled here; then its own account of the problems counts.
    if (error instanceof ApiError && error.code === 'VALIDATION_ERROR')
      showProblems(wfx.io, source, (await client.call('validateFlow', { body: source.text })).problems);
    throw error;
  }
}

/** What publishing did, in a sentence. */
export function publishedSentence(name: string, { version, activeIn, unchanged, processId }: Published): string {
  const where = activeIn.length === 0 ? '' : `, active in ${activeIn.join(' and ')}`;
  const what = unchanged ? `is unchanged: version ${version}` : `is published as version ${version}`;
  return `${plain(name)} (${processId}) ${what}${where}`;
}
