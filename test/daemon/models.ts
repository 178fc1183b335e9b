import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

/** What a model of the test answers. */
export interface ModelReply {
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly args: unknown }[];
  readonly status?: number;
  readonly error?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly finish?: string;
  /** The connection is cut in the middle of the answer. */
  readonly cut?: boolean;
  /** Nothing is answered; resolves `Models.held`. */
  readonly hang?: boolean;
}
export interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent
  readonly body: any;
}
export interface Models {
  readonly url: string;
  readonly asked: Asked[];
  /** Resolves when a request hangs, and then when it was given up. */
  readonly held: Promise<{ readonly closed: Promise<unknown> }>;
}

/**
 * A server that speaks OpenAI's chat completions and Anthropic's messages, both streamed, on loopback. `script` gets each
 * request and its number from 1.
 */
export async function models(t: Test, script: (asked: Asked, number: number) => ModelReply): Promise<Models> {
  const asked: Asked[] = [];
  let hold: (given: { readonly closed: Promise<unknown> }) => void = () => undefined;
  const held = new Promise<{ readonly closed: Promise<unknown> }>((resolve) => {
    hold = resolve;
  });
  const server = createServer(async (request, response) => {
    const one = { path: request.url ?? '', headers: request.headers, body: JSON.parse(await textOf(request)) };
    asked.push(one);
    const reply = script(one, asked.length);
    if (reply.hang === true) return hold({ closed: once(response, 'close') });
    if (reply.status !== undefined) return refuse(response, reply);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const events = one.path.endsWith('/messages') ? anthropic(reply) : openai(reply);
    for (const event of reply.cut === true ? events.slice(0, 2) : events) response.write(event);
    if (reply.cut === true) setImmediate(() => response.destroy());
    else response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, held };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of request) text += part;
  return text;
}

function refuse(response: ServerResponse, { status = 500, error = 'no', headers = {} }: ModelReply): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error: { message: error, type: 'x' }, type: 'error' }));
}

const line = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;

function openai({ text = '', calls = [], finish }: ModelReply): string[] {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    line({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta, finish_reason }],
    });
  const tools = calls.map(({ name, args }, index) =>
    chunk({
      tool_calls: [
        { index, id: `call_${name}_${index}`, type: 'function', function: { name, arguments: JSON.stringify(args) } },
      ],
    }),
  );
  return [
    chunk({ role: 'assistant', content: '' }),
    ...text.split(/(?<= )/).map((content) => chunk({ content })),
    ...tools,
    chunk({}, finish ?? (calls.length > 0 ? 'tool_calls' : 'stop')),
    line({
      id: 'c',
      object: 'chat.completion.chunk',
      choices: [],
      usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
    }),
    'data: [DONE]\n\n',
  ];
}

function anthropic({ text = '', calls = [], finish }: ModelReply): string[] {
  const event = (type: string, data: object) => `event: ${type}\n${line({ type, ...data })}`;
  const block = (index: number, content_block: object, delta: object) => [
    event('content_block_start', { index, content_block }),
    event('content_block_delta', { index, delta }),
    event('content_block_stop', { index }),
  ];
  const texts = text === '' ? [] : block(0, { type: 'text', text: '' }, { type: 'text_delta', text });
  const tools = calls.flatMap(({ name, args }, i) =>
    block(
      i + 1,
      { type: 'tool_use', id: `toolu_${i}`, name, input: {} },
      { type: 'input_json_delta', partial_json: JSON.stringify(args) },
    ),
  );
  const message = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 11, output_tokens: 1 },
  };
  return [
    event('message_start', { message }),
    ...texts,
    ...tools,
    event('message_delta', {
      delta: { stop_reason: finish ?? (calls.length > 0 ? 'tool_use' : 'end_turn'), stop_sequence: null },
      usage: { output_tokens: 7 },
    }),
    event('message_stop', {}),
  ];
}
