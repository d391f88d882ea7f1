/** A user as reviews and audit events carry it. */
import type { UserInfo } from '../../api/gen/authentication-v1.ts';
import type { Principal } from '../../api/transport.ts';

/** The UserInfo of a principal; what is empty is left out. */
export function userInfoOf({ name, uid, groups, extra }: Principal): UserInfo {
  return {
    username: name,
    ...(uid === undefined || uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups: [...groups] }),
    ...(extra === undefined
      ? {}
      : { extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])) }),
  };
}
