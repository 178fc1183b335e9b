import type { Json, JsonObject } from './json.ts';
import type { Request } from './keys/work.ts';
import type { Resolver } from './node.ts';

/** An HTTP request with its templates resolved, as work takes it. */
export function resolvedRequest(request: Request, resolver: Resolver): JsonObject {
  const input: Record<string, Json> = { method: resolver.text(request.method), url: resolver.text(request.url) };
  if (request.headers !== undefined) input['headers'] = resolver.texts(request.headers);
  if (request.query !== undefined) input['query'] = resolver.texts(request.query);
  if (request.body !== undefined) input['body'] = resolver.value(request.body);
  return input;
}
