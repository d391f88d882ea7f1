/** The user in reviews and audit events. */
import type { UserInfo } from '../../api/gen/authentication-v1.ts';
import type { Principal } from '../../api/transport.ts';

/** The UserInfo of a principal, without empty fields. */
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
