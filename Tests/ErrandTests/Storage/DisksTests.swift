#if os(Linux)
@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Which disk a path leads to") struct DisksTests {
    private static let table = #"""
        22 1 0:20 / / rw,relatime - overlay overlay rw
        30 22 0:41 / /mnt/dead rw shared:7 - nfs4 server:/ rw
        31 22 8:1 / /mnt/dead/inner rw - ext4 /dev/sda1 rw
        32 22 8:2 / /mnt/with\040space rw - ext4 /dev/sda2 rw
        33 22 8:3 / /mnt/twice rw - ext4 /dev/sda3 rw
        34 33 8:4 / /mnt/twice rw - ext4 /dev/sda4 rw
        nothing of that kind
        """#

    @Test(
        "the mount with the longest path counts, and of two at one place the later one",
        arguments: [
            ("/", "0:20"), ("/mnt", "0:20"), ("/mnt/deadly/x", "0:20"), ("/mnt/dead", "0:41"), ("/mnt/dead/x", "0:41"),
            ("/mnt/dead/inner/x", "8:1"), ("/mnt/with space/x", "8:2"), ("/mnt/twice/x", "8:4"), ("", "0:20"),
        ])
    func mounts(path: String, disk: String) {
        #expect(MountTable(Self.table).disk(of: path) == disk)
    }

    @Test("without a list of mounts, each folder is a disk")
    func unknown() {
        #expect(MountTable("").disk(of: "/a") == nil)
        #expect(Disks { "" }.disk(of: DiskPlace("/a/b")) == "/a")
    }

    @Test("the system's list is read, also for a path that is relative")
    func system() throws {
        let disks = Disks()
        let here = disks.disk(of: DiskPlace("file"))
        #expect(here.contains(":"))
        #expect(here == disks.disk(of: DiskPlace("\(FileManager.default.currentDirectoryPath)/file")))
        #expect(disks.disk(of: DiskPlace("/proc/self/x")) != disks.disk(of: DiskPlace("/file")))
    }

    @Test("a link to another disk is found when it is looked for, and remembered")
    func links() throws {
        let scratch = try Scratch()
        // Folders that look like mounts, and are none: nothing there is touched.
        let dead = scratch.path("dead")
        let table = "1 0 0:1 / / rw - a a rw\n2 1 0:2 / \(dead) rw - a a rw\n"
        func link(_ name: String, to target: String) throws {
            try FileManager.default.createSymbolicLink(atPath: scratch.path(name), withDestinationPath: target)
        }
        try link("absolute", to: "\(dead)/deeper")
        try link("relative", to: "./dead")
        try link("second", to: "absolute/more")
        try link("circle", to: "circle")
        #expect(mkdir(scratch.path("folder"), 0o700) == 0)
        try link("folder/up", to: "../dead")
        try link("folder/beside", to: "..")
        let disks = Disks { table }
        for (name, isFound) in [
            ("absolute", true), ("relative", true), ("second", true), ("folder/up", true), ("folder/beside", false),
            ("folder/beside/relative", true), ("folder", false), ("circle", false), ("missing", false),
        ] {
            let place = DiskPlace(scratch.path("\(name)/file"))
            #expect(disks.disk(of: place) == "0:1")
            #expect(disks.look(at: place, on: "0:1") == (isFound ? "0:2" : nil), "\(name)")
            #expect(disks.disk(of: place) == (isFound ? "0:2" : "0:1"), "\(name)")
        }
        #expect(disks.disk(of: DiskPlace("\(dead)/file")) == "0:2")
    }
}
#endif
