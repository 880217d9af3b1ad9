#if os(Linux)
@testable import Errand
import Testing

@Suite("How many cores a process may use") struct CurlCoresTests {
    @Test(
        "L1: the share of a group counts, rounded up; that of the groups around it too",
        arguments: [
            ("0::/", ["/cpu.max": "200000 100000\n"], 2), ("0::/", ["/cpu.max": "max 100000\n"], nil),
            ("0::/", ["/cpu.max": "150000 100000\n"], 2), ("0::/", ["/cpu.max": "1000 100000\n"], 1),
            ("0::/a/b", ["/a/b/cpu.max": "max 100000", "/a/cpu.max": "300000 100000"], 3),
            ("0::/outside", ["/cpu.max": "400000 100000"], 4), ("0::/", [:], nil), ("nonsense", [:], nil),
            ("0::/", ["/cpu.max": "0 0"], nil), ("0::/", ["/cpu.max": "a b"], nil),
            (
                "4:memory:/x\n3:cpu,cpuacct:/x\n0::/y",
                ["/cpu/x/cpu.cfs_quota_us": "250000\n", "/cpu/x/cpu.cfs_period_us": "100000\n"], 3
            ),
            ("3:cpu:/x", ["/cpu/x/cpu.cfs_quota_us": "-1\n", "/cpu/x/cpu.cfs_period_us": "100000\n"], nil),
        ] as [(String, [String: String], Int?)])
    func share(groups: String, files: [String: String], cores: Int?) {
        #expect(CurlCores.share(groups) { files[$0] } == cores)
    }

    @Test("the process may use one core at least")
    func usable() {
        #expect(CurlCores.usable >= 1)
    }
}
#endif
