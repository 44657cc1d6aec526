// An authorization server that others wrote, with users who have no passwords: issuer.mjs PORT ALGORITHM

import { generateKeyPairSync } from "node:crypto";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.NODE_MODULES}/`);
const { default: Provider } = await import(pathToFileURL(require.resolve("oidc-provider")));

const [port, algorithm] = process.argv.slice(2);
const kinds = {
    RS256: ["rsa", { modulusLength: 2048 }],
    ES256: ["ec", { namedCurve: "P-256" }],
    EdDSA: ["ed25519", {}],
};
const key = (name) => ({ ...generateKeyPairSync(...kinds[name]).privateKey.export({ format: "jwk" }), use: "sig", alg: name });
// ID tokens are signed with RS256, whatever access tokens are signed with.
const keys = [...new Set(["RS256", algorithm])].map(key);

const provider = new Provider(`http://127.0.0.1:${port}`, {
    clients: [
        {
            client_id: "cycod",
            redirect_uris: ["http://127.0.0.1/callback"],
            application_type: "native",
            token_endpoint_auth_method: "none",
        },
    ],
    jwks: { keys },
    cookies: { keys: ["a key of a test"] },
    features: {
        devInteractions: { enabled: true },
        registration: { enabled: true },
        resourceIndicators: {
            enabled: true,
            getResourceServerInfo: (_, audience) => ({
                audience,
                scope: "",
                accessTokenFormat: "jwt",
                // cycod renews a token that lasts for less than 30 seconds.
                accessTokenTTL: 33,
                jwt: { sign: { alg: algorithm } },
            }),
            useGrantedResource: () => true,
        },
    },
    issueRefreshToken: () => true,
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
});
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
