/** The sum by which a checkpoint file shows that it is whole: FNV-1a, 32 bits, over its data's text. Upstream: pkg/kubelet/checkpointmanager/checksum. */
export function checksumOf(data: unknown): number {
  let hash = 0x81_1c_9d_c5;
  for (const byte of Buffer.from(JSON.stringify(data))) hash = Math.imul(hash ^ byte, 0x01_00_01_93) >>> 0;
  return hash;
}
