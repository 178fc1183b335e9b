import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { WorkError } from './executor.ts';

/**
 * Where HTTP calls of flows may not go. On a laptop, loopback and private addresses are what flows call most, so they
 * are allowed; refused are the addresses where clouds serve a machine's own credentials, none of which a flow has any
 * business with: link-local (169.254.0.0/16, fe80::/10) and the providers' addresses outside of it. `httpDeny` adds to
 * them. The check is on addresses, after a name was resolved and on every connection, so that no way of writing one, no
 * DNS answer and no redirect gets around it.
 */
const METADATA: readonly string[] = [
  '169.254.0.0/16',
  'fe80::/10',
  // The same link-local addresses as a NAT64 gateway translates them.
  '64:ff9b::a9fe:0/112',
  'fd00:ec2::/32',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
];

export interface AddressPolicy {
  /** Throws HTTP_ADDRESS_REFUSED when `host`, as a URL has it, is an address that is refused. Names pass. */
  check(host: string): void;
  /** Resolves a name as `dns.lookup` does; fails with HTTP_ADDRESS_REFUSED when any of its addresses is refused. */
  readonly lookup: LookupFunction;
}

/** @throws Error when `deny` holds something that is no address or CIDR block. */
export function createAddressPolicy(deny: readonly string[]): AddressPolicy {
  const refused = new BlockList();
  for (const block of [...METADATA, ...deny]) add(refused, block);

  const refusal = (host: string, address: string): WorkError | undefined => {
    const family = isIP(address);
    if (family === 0 || !refused.check(address, family === 6 ? 'ipv6' : 'ipv4')) return undefined;
    const where = host === address ? host : `${host} (${address})`;
    return new WorkError(
      'HTTP_ADDRESS_REFUSED',
      `calls to ${where} are refused: the address is on the daemon's deny list`,
    );
  };

  return {
    check(host) {
      const address = host.replace(/^\[|\]$/g, '');
      const error = refusal(address, address);
      if (error) throw error;
    },
    lookup(host, options, callback) {
      dnsLookup(host, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
        const failed = error ?? addresses.map(({ address }) => refusal(host, address)).find(Boolean);
        const first = addresses?.[0];
        if (failed || !first) callback(failed ?? null, []);
        else if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      });
    },
  };
}

function add(list: BlockList, block: string): void {
  const [address = '', bits, ...more] = block.split('/');
  const family = isIP(address);
  const width = family === 6 ? 128 : 32;
  const prefix = bits === undefined ? width : Number(bits);
  if (family === 0 || more.length > 0 || bits === '' || !Number.isInteger(prefix) || prefix < 0 || prefix > width)
    throw new Error(`'${block}' in httpDeny is no IP address or CIDR block; write it like 10.0.0.0/8 or fd00::/8`);
  list.addSubnet(address, prefix, family === 6 ? 'ipv6' : 'ipv4');
}
