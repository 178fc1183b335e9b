import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { machine } from './machine.ts';

t.setTimeout(240_000);

const flow = (id: string, registration: string, eventType: string) => `id: ${id}
name: On ${eventType}
triggers: [{ type: webhook, registration: ${registration}, eventType: ${eventType} }]
nodes:
  start: { type: startEvent, next: set }
  set: { type: setVariable, set: { repo: "{webhookPayload.repository.full_name}" }, next: done }
  done: { type: endEvent }
`;

t.test('a webhook flow is made and tried without leaving the terminal', async (t) => {
  const { wfx, begin, dir } = machine(t);
  await wfx(['daemon', 'start', '--port', '0']);

  const made = await wfx(['webhook', 'create', 'repo', '-p', 'github']);
  t.match(made, { code: 0, stdout: /address +http:\/\/127\.0\.0\.1:\d+\/webhook\/receive\/[\w-]{32}\n/ });
  const secret = /secret +(\w{64})/.exec(made.stdout)?.[1] ?? 'none';
  t.notMatch((await wfx(['webhook', 'show', 'repo'])).stdout, secret);

  writeFileSync(join(dir, 'push.yaml'), flow('5c0f3f7e-8d4b-4a57-9a0e-2b6f0a6a3c11', 'repo', 'push'));
  t.equal((await wfx(['publish', 'push.yaml'])).code, 0);
  t.match((await wfx(['webhook', 'show', 'repo'])).stdout, /starts +On push .* version 1 in PRODUCTION, on push/);

  t.test('an event is sent, signed, and starts a run', async (t) => {
    const sent = await wfx(['webhook', 'trigger', 'github', 'push', '--set', 'repository.full_name=acme/shop']);
    t.match(sent, { code: 0, stderr: /^STARTED/, stdout: /^[0-9a-f-]{36}\n$/ });
    const run = (await wfx(['instance', 'show', sent.stdout.trim(), '-o', 'json'])).json();
    t.match(run.data, { repo: 'acme/shop', webhookEventType: 'push' });
    const shown = await wfx(['instance', 'show', sent.stdout.trim()]);
    t.match(shown.stdout, /by webhook repo, delivery [0-9a-f-]{36}/);
  });

  t.test('what can go wrong is tried', async (t) => {
    const fail = (how: string, provider = 'github', event = 'push') =>
      wfx(['webhook', 'trigger', provider, event, '--fail', how]);
    t.match(await fail('bad-signature'), { code: 0, stdout: '', stderr: /^BAD_SIGNATURE: the signature/ });
    t.match((await fail('duplicate')).stderr, /^STARTED.*\nDUPLICATE: the event .* came before/);
    t.match(await fail('stale'), { code: 2, stderr: /signs no time/ });
    t.match(await fail('wrong'), { code: 2, stderr: /bad-signature, stale, duplicate, slow/ });
    await wfx(['webhook', 'create', 'pay', '-p', 'stripe', '--secret-file', '-'], { input: 'whsec_theirs\n' });
    t.match((await fail('stale', 'stripe', 'invoice.paid')).stderr, /^STALE: .*3600 s old/);
    t.match(await wfx(['webhook', 'trigger', 'gitlab', 'push']), { code: 2, stderr: /no gitlab webhook/ });
    t.match(await wfx(['webhook', 'trigger', 'github', 'nothing']), { code: 2, stderr: /one of .*push/ });
    t.match(await wfx(['webhook', 'trigger', 'nobody', 'push']), { code: 2, stderr: /github, stripe/ });
  });

  t.test('every event that there is can be sent, and is read', async (t) => {
    for (const provider of ['gitlab', 'slack', 'shopify', 'standard', 'custom'])
      t.equal((await wfx(['webhook', 'create', provider, '-p', provider])).code, 0, provider);
    for (const provider of ['github', 'stripe', 'gitlab', 'slack', 'shopify', 'standard', 'custom']) {
      const events = (await wfx(['webhook', 'trigger', provider])).stdout.trim().split('\n');
      t.ok(events.length >= 3, provider);
      const sent = await Promise.all(events.map((event) => wfx(['webhook', 'trigger', provider, event, '-o', 'json'])));
      for (const [at, one] of sent.entries()) {
        const { verdict, eventType, eventId } = one.json();
        t.match(verdict, /STARTED|NO_MATCH/, `${provider} ${events[at]}`);
        t.ok(eventType, `${provider} ${events[at]} has a type`);
        if (provider !== 'custom' && events[at] !== 'url_verification')
          t.ok(eventId, `${provider} ${events[at]} has an id`);
      }
    }
  });

  t.test('events of one’s own come from a folder', async (t) => {
    mkdirSync(join(dir, 'templates/github/deployment'), { recursive: true });
    writeFileSync(
      join(dir, 'templates/github/star.yaml'),
      'headers: { X-GitHub-Event: star }\nbody: { action: created }\n',
    );
    writeFileSync(join(dir, 'templates/github/deployment/made.json'), '{"action": "made"}');
    const own = ['--templates', 'templates'];
    t.match(
      (await wfx(['webhook', 'trigger', 'github', ...own])).stdout,
      /deployment\/made\n(.*\n)*push\n(.*\n)*star\n/,
    );
    const star = (await wfx(['webhook', 'trigger', 'github', 'star', ...own, '-o', 'json'])).json();
    t.match(star, { verdict: 'NO_MATCH', eventType: 'star', body: '{"action":"created"}' });
    const made = await wfx([
      'webhook',
      'trigger',
      'github',
      'deployment/made',
      ...own,
      '--header',
      'x-github-event=push',
    ]);
    t.match(made.stderr, /^STARTED/);
    const odd = await wfx(['webhook', 'trigger', 'github', 'push', '--header', 'x-é=1']);
    t.match(odd, { code: 2, stderr: /The header “x-é” can't be sent as it is/ });
  });

  t.test('deliveries are listed, shown, followed and sent again', async (t) => {
    const follower = begin(['webhook', 'deliveries', 'repo', '--follow']);
    await follower.says(/Waiting for deliveries to repo/);
    // Nothing says when the stream is open, so events are sent until one shows.
    let shown = false;
    const line = follower.says(/STARTED +push +([0-9a-f-]{36}) +([0-9a-f-]{36})/).finally(() => {
      shown = true;
    });
    while (!shown) await wfx(['webhook', 'trigger', 'github', 'push']);
    const [, deliveryId = '', run] = await line;
    follower.child.kill('SIGINT');
    t.equal((await follower.result).code, 130);

    t.match((await wfx(['webhook', 'deliveries'])).stdout, new RegExp(`repo +STARTED +push +${deliveryId} +${run}`));
    const rejected = (await wfx(['webhook', 'deliveries', 'repo', '--verdict', 'bad-signature', '-o', 'json'])).json();
    t.match(rejected.items, [{ verdict: 'BAD_SIGNATURE' }]);
    const one = await wfx(['webhook', 'deliveries', 'repo', deliveryId]);
    t.match(one.stdout, /verdict +STARTED[\s\S]*x-github-event: push[\s\S]*"ref":"refs\/heads\/main"/);
    t.match(await wfx(['webhook', 'replay', 'repo', deliveryId]), {
      code: 0,
      stderr: /^STARTED/,
      stdout: /^[0-9a-f-]{36}\n$/,
    });
    t.match(await wfx(['webhook', 'replay', 'repo', rejected.items[0].deliveryId, '--resign']), { stderr: /^STARTED/ });
    t.match(await wfx(['webhook', 'replay', 'repo', deliveryId, '-e', 'DEVELOPMENT', '--flow', 'x']), { code: 2 });
  });

  t.test('secrets are rotated, and webhooks removed', async (t) => {
    const rotated = await wfx(['webhook', 'rotate', 'repo', '--overlap', '1h']);
    t.match(rotated.stdout, /secret +\w{64}\nold secret until +\d{4}-/);
    t.notMatch(rotated.stdout, secret);
    t.match((await wfx(['webhook', 'trigger', 'github', 'push'])).stderr, /^STARTED/);
    t.match((await wfx(['webhook', 'list'])).stdout, /repo +GITHUB +SHARED +HMAC +1 /);
    t.equal((await wfx(['webhook', 'delete', 'repo', 'pay'])).code, 0);
    t.notMatch((await wfx(['webhook', 'list'])).stdout, /repo|pay/);
    t.match(await wfx(['webhook', 'show', 'repo']), { code: 2, stderr: /no webhook “repo”/ });
  });
});
