#if os(Linux)
@testable import Errand
import ErrandTestSupport
import Testing

@Suite("The kernel's routing tables") struct RouteTableTests {
    private static let head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    private static let zeros = "00000000000000000000000000000000"

    private static func v6(_ destination: String, _ flags: String, _ interface: String) -> String {
        "\(destination) 00 \(zeros) 00 \(zeros) 00000400 00000001 00000000 \(flags)     \(interface)\n"
    }

    @Test(
        "a route leads out unless it is of the loopback interface, link-local, down or a refusal",
        arguments: [
            ("no table to read", nil, nil, true),
            ("empty tables", head, "", false),
            ("IPv4 by default", head + "eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n", "", true),
            ("IPv4 of the loopback", head + "lo\t0000007F\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n", nil, false),
            ("IPv4, down", head + "eth0\t00000000\t010011AC\t0002\t0\t0\t0\t00000000\t0\t0\t0\n", nil, false),
            ("IPv4, unreachable", head + "*\t00000000\t00000000\t0201\t0\t0\t0\t00000000\t0\t0\t0\n", nil, false),
            ("IPv6 by default", head, v6(zeros, "00000003", "eth0"), true),
            ("IPv6 of the loopback", head, v6("00000000000000000000000000000001", "80200001", "lo"), false),
            ("IPv6, unreachable", head, v6(zeros, "00200200", "lo"), false),
            ("IPv6, link-local only", head, v6("fe800000000000000000000000000000", "00000001", "eth0"), false),
            ("IPv6, multicast only", nil, v6("ff000000000000000000000000000000", "00000001", "eth0"), false),
            ("lines that are none", head + "eth0\n\n???\teth0\tx\tzz\n", "garbage\n", false),
        ] as [(String, String?, String?, Bool)])
    func tables(name: String, ipv4: String?, ipv6: String?, hasWayOut: Bool) {
        #expect(RouteTable(ipv4: ipv4, ipv6: ipv6).hasWayOut == hasWayOut, "\(name)")
    }

    @Test("the tables of this machine can be read")
    func own() {
        #expect(RouteTable.current.hasWayOut == SystemNetwork.shared.isOnline())
    }
}
#endif
