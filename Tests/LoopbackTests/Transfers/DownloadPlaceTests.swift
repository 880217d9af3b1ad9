import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The place of a download", .timeLimit(.minutes(10))) struct DownloadPlaceTests {
    /// Downloads to a path, and returns why that is invalid.
    private func reason(_ path: String, in scene: DownloadScene) async throws -> String {
        let error = await #expect(throws: ServiceError.self) {
            try await scene.client.download(.get("app.zip"), to: path)
        }
        guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
        #expect(invalid.subject == .file && !invalid.mayHaveReachedServer)
        #expect(invalid.description.hasPrefix("The file cannot be used: "))
        return invalid.reason
    }

    @Test("D7: a place that cannot be is named, and nothing is sent")
    func badPlaces() async throws {
        let scene = try DownloadScene()
        let folder = scene.scratch.folder
        try FileManager.default.createDirectory(atPath: "\(folder)/folder", withIntermediateDirectories: false)
        try scene.scratch.write("precious", to: "file")
        try FileManager.default.createSymbolicLink(atPath: "\(folder)/link", withDestinationPath: "\(folder)/file")
        #expect(mkfifo("\(folder)/pipe", 0o600) == 0)
        #expect(
            try await reason("\(folder)/folder", in: scene)
                == "\(folder)/folder is a folder; add the name of the file")
        #expect(
            try await reason("\(folder)/link", in: scene)
                == "\(folder)/link is a symbolic link, which is not followed")
        #expect(try await reason("\(folder)/pipe", in: scene) == "\(folder)/pipe is not a regular file")
        #expect(
            try await reason("\(folder)/none/a", in: scene)
                == "the folder \(folder)/none is missing; create it first")
        #expect(try await reason("\(folder)/file/a", in: scene) == "\(folder)/file is not a folder")
        for name in ["", "\(folder)/", "\(folder)/.", "..", "a\0b"] {
            #expect(try await reason(name, in: scene).hasSuffix("is not the path of a file"))
        }
        let web = await #expect(throws: ServiceError.self) {
            try await scene.client.download(
                .get("app.zip"), to: URL(string: "https://api.test/a") ?? URL(filePath: "/"))
        }
        guard case .invalidRequest = web else { throw try #require(web) }
        #expect(scene.server.received.isEmpty)
        #expect(try scene.names == ["file", "folder", "link", "pipe"])
        #expect(try scene.scratch.read("file") == "precious")
    }

    @Test(
        "D7: a name that is too long is found out before anything is sent, and leaves nothing", arguments: [256, 1000])
    func tooLongName(count: Int) async throws {
        let scene = try DownloadScene()
        scene.serve()
        let target = scene.scratch.path(String(repeating: "x", count: count))
        #expect(try await reason(target, in: scene) == "\(target) cannot be accessed: File name too long")
        #expect(try scene.names == [] && scene.server.received.isEmpty)
    }

    #if os(Linux)
    @Test(
        "D7: a folder that takes no files is named, and nothing is sent",
        arguments: ["/proc/self/x", "/sys/x", "/dev/fd/x"])
    func noFolderForFiles(target: String) async throws {
        let scene = try DownloadScene()
        scene.serve()
        let reason = try await reason(target, in: scene)
        #expect(reason.contains(target) || reason.hasSuffix("is not writable"), "\(reason)")
        #expect(scene.server.received.isEmpty)
    }
    #endif

    @Test(
        "D7: the URL of a file of another machine is refused, for a download and for a body; one of this machine is not"
    )
    func otherHost() async throws {
        let scene = try DownloadScene()
        scene.serve()
        let elsewhere = try #require(URL(string: "file://other.host\(scene.target)"))
        for isDownload in [true, false] {
            let error = await #expect(throws: ServiceError.self) {
                if isDownload {
                    try await scene.client.download(.get("app.zip"), to: elsewhere)
                } else {
                    try await scene.client.run(.put("x", body: .file(elsewhere)))
                }
            }
            guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
            #expect(invalid.subject == .file && invalid.reason.contains("other.host"))
        }
        #expect(try scene.names == [] && scene.server.received.isEmpty)
        for host in ["", "localhost", "LOCALHOST"] {
            let here = try #require(URL(string: "file://\(host)\(scene.target)"))
            #expect(try await scene.client.download(.get("app.zip"), to: here).path == scene.target)
        }
    }

    @Test("a folder with the name of the part is named")
    func folderAsPart() async throws {
        let scene = try DownloadScene()
        try FileManager.default.createDirectory(
            atPath: scene.target + ".part", withIntermediateDirectories: false)
        #expect(try await reason(scene.target, in: scene).hasPrefix("\(scene.target).part cannot be created: "))
        #expect(scene.server.received.isEmpty)
    }

    @Test("a name may be as long as the file system allows; its part has a shorter one", arguments: [240, 242, 255])
    func longName(count: Int) async throws {
        let scene = try DownloadScene()
        scene.serve { $1 == 1 ? $0.cut(.inBody(1000)) : $1 == 2 ? .status(404) : $0 }
        let name = "ä" + String(repeating: "x", count: count - 2)
        let target = scene.scratch.path(name)
        await #expect(throws: ServiceError.self) { try await scene.client.download(.get("app.zip"), to: target) }
        #expect(try scene.names.allSatisfy { $0.utf8.count <= 255 } && scene.names.count == 2)
        #expect(try await scene.client.download(.get("app.zip"), to: target).resumedAfter == 1000)
        #expect(FileManager.default.contents(atPath: target) == scene.file.content)
        #expect(try scene.names == [name])
    }

    @Test("D5: a part that somebody else has put in place of its own is neither used nor removed")
    func replacedPart() async throws {
        let scene = try DownloadScene()
        let part = scene.target + ".part"
        scene.serve { reply, number in
            guard number > 1 else { return reply.cut(.inBody(1000)) }
            // The client waits for the rest. A test that cannot replace the part fails below.
            try? FileManager.default.removeItem(atPath: part)
            try? Data("other".utf8).write(to: URL(filePath: part))
            return reply
        }
        let error = await #expect(throws: ServiceError.self) {
            try await scene.client.download(.get("app.zip"), to: scene.target)
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .file && failure.message.contains("changed or removed during the download"))
        #expect(scene.downloaded == nil && scene.part == Data("other".utf8))
    }

    @Test("D7: a folder that is not writable is named", .disabled(if: geteuid() == 0, "root may write everywhere"))
    func unwritable() async throws {
        let scene = try DownloadScene()
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: scene.scratch.folder)
        #expect(try await reason(scene.target, in: scene) == "the folder \(scene.scratch.folder) is not writable")
    }

    @Test("D7: a part that somebody has planted is not written to")
    func planted() async throws {
        let scene = try DownloadScene()
        let precious = scene.scratch.path("precious")
        try scene.scratch.write("precious", to: "precious")
        try FileManager.default.createSymbolicLink(atPath: "\(scene.target).part", withDestinationPath: precious)
        #expect(
            try await reason(scene.target, in: scene).hasSuffix("is a symbolic link, which is not followed; remove it"))
        try FileManager.default.removeItem(atPath: "\(scene.target).part")
        try FileManager.default.linkItem(atPath: precious, toPath: "\(scene.target).part")
        #expect(
            try await reason(scene.target, in: scene).hasSuffix("is not a regular file owned by this user; remove it"))
        #expect(try scene.scratch.read("precious") == "precious")
    }

    @Test("a record that is damaged, or of another version, counts for nothing", arguments: ["{", "{}", "[1]", ""])
    func damagedRecord(text: String) async throws {
        let scene = try DownloadScene()
        scene.serve()
        try scene.scratch.write("some bytes", to: "app.zip.part")
        try scene.scratch.write(text, to: "app.zip.part.json")
        let file = try await scene.client.download(.get("app.zip"), to: scene.target)
        #expect(!file.isResumed && scene.downloaded == scene.file.content)
        #expect(try scene.names == ["app.zip"])
    }

    @Test("D5: a second download to one place fails at once; the first is not disturbed, and the place is free later")
    func twoInOneProcess() async throws {
        let scene = try DownloadScene()
        let (arrived, goOn) = (AsyncStream.makeStream(of: Void.self), DispatchSemaphore(value: 0))
        scene.serve { reply, number in
            guard number == 1 else { return reply }
            arrived.continuation.yield()
            goOn.wait()
            return reply
        }
        let first = Task { try await scene.client.download(.get("app.zip"), to: scene.target) }
        for await _ in arrived.stream { break }
        let expected = "another download writes to \(scene.target); wait for its end, or choose another name"
        #expect(try await reason(scene.target, in: scene) == expected)
        goOn.signal()
        #expect(try await first.value.bytes == scene.file.content.count)
        #expect(scene.downloaded == scene.file.content && scene.server.received.count == 1)
        #expect(try await scene.client.download(.get("app.zip"), to: scene.target).status == 200)
    }
}
