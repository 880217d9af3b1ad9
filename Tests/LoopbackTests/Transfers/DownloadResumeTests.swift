import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A download that breaks off") struct DownloadResumeTests {
    @Test("D1: broken off very often, at random bytes, it fetches no byte twice, and the file is identical")
    func brokenOffOften() async throws {
        let (cuts, size) = LongRun.isWanted ? (1000, 64 << 20) : (100, 8 << 20)
        let scene = try DownloadScene(size)
        let (random, arrived) = (Noted(SeededRandom(UInt64(cuts))), Noted(0))
        let starts = Noted<[Int]>([])
        scene.serve { reply, number in
            starts.update { $0.append(arrived.value) }
            guard number <= cuts else { return reply }
            var count = 0
            random.update { count = $0.int(1...(size / cuts)) }
            arrived.update { $0 += count }
            return reply.cut(.inBody(count))
        }
        let file = try await scene.client.download(.get("app.zip"), to: scene.target)
        #expect(scene.downloaded == scene.file.content)
        #expect(file.attempts == cuts + 1 && file.status == 206 && !file.isResumed)
        #expect(scene.ranges == starts.value.map { $0 == 0 ? nil : "bytes=\($0)-" })
        let conditions = scene.server.received.dropFirst().map { $0.headers["If-Range"] }
        #expect(conditions.allSatisfy { $0 == "\"1\"" })
        #expect(scene.server.bytesSent <= size + size / 20)
    }

    @Test("D1: with a date instead of a tag, if that is certain; without either, it begins again")
    func otherVersions() async throws {
        let settled: HTTPHeaders = [
            "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 09:49:37 GMT",
        ]
        let weak: HTTPHeaders = ["ETag": "W/\"1\""]
        for (headers, range) in [(settled, "bytes=1000-"), (weak, nil), ([:], nil)] as [(HTTPHeaders, String?)] {
            let scene = try DownloadScene(headers: headers)
            scene.serve { $1 == 1 ? $0.cut(.inBody(1000)) : $0 }
            let file = try await scene.client.download(.get("app.zip"), to: scene.target)
            #expect(scene.downloaded == scene.file.content && file.attempts == 2)
            #expect(scene.ranges == [nil, range])
            #expect(scene.server.received.last?.headers["If-Range"] == (range == nil ? nil : headers["Last-Modified"]))
        }
    }

    @Test("D1: a server that resets the connection or answers 503 in between changes nothing")
    func otherFaults() async throws {
        let scene = try DownloadScene()
        scene.serve { reply, number in
            switch number {
            case 1: reply.cut(.inBody(50_000), by: .reset)
            case 2: .status(503)
            case 3: reply.cut(.withinHead)
            default: reply
            }
        }
        let file = try await scene.client.download(.get("app.zip"), to: scene.target)
        #expect(scene.downloaded == scene.file.content && file.bytes == scene.file.content.count)
        #expect(scene.server.received.count == 4)
    }

    @Test("without progress, the retry policy limits the attempts; what has come is kept for the next download")
    func noProgress() async throws {
        let scene = try DownloadScene()
        scene.serve { $1 < 7 ? $0.cut(.inBody($1 <= 3 ? 1000 : 0)) : $0 }
        let error = await #expect(throws: ServiceError.self) {
            try await scene.client.download(.get("app.zip"), to: scene.target)
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .truncated && failure.mayHaveReachedServer)
        // Three with progress, three without.
        #expect(scene.ranges == [nil, "bytes=1000-", "bytes=2000-", "bytes=3000-", "bytes=3000-", "bytes=3000-"])
        #expect(scene.part == scene.file.content.prefix(3000))
        #expect(scene.downloaded == nil)
        let file = try await scene.client.download(.get("app.zip"), to: scene.target)
        #expect(file.isResumed && file.resumedAfter == 3000 && file.status == 206 && file.attempts == 1)
        #expect(scene.downloaded == scene.file.content)
        #expect(try scene.names == ["app.zip"])
    }

    @Test("a new version counts from its own beginning: each of its bytes is progress")
    func progressOfNewVersion() async throws {
        let scene = try DownloadScene()
        let other = LoopbackFile(DownloadScene.content(100_000), headers: ["ETag": "\"2\""])
        let count = Noted(0)
        scene.server.on(.get, "/app.zip") { [first = scene.file] request in
            count.update { $0 += 1 }
            switch count.value {
            case 1: return first.reply(to: request).cut(.inBody(150_000))
            case 2: return .status(404)
            case 3..<12: return other.reply(to: request).cut(.inBody(10_000))
            default: return other.reply(to: request)
            }
        }
        await #expect(throws: ServiceError.self) { try await scene.client.download(.get("app.zip"), to: scene.target) }
        let file = try await scene.client.download(.get("app.zip"), to: scene.target)
        #expect(scene.downloaded == other.content && file.attempts == 10 && !file.isResumed)
    }

    @Test(
        "a file that changes again and again, after a little of it has come each time, is given up", arguments: [1, 2])
    func changingForever(connections: Int) async throws {
        let scene = try DownloadScene(1000)
        scene.server.on(.get, "/app.zip") { [content = scene.file.content] request in
            // Each version brings some bytes, one for each connection.
            let version = (request.connection - 1) / connections
            let file = LoopbackFile(content, headers: ["ETag": "\"\(version)\""])
            guard request.connection < 200 else { return .status(404) }
            return file.reply(to: request).cut(.inBody(1))
        }
        let error = await #expect(throws: ServiceError.self) {
            try await scene.client.download(.get("app.zip"), to: scene.target)
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .truncated)
        // Three versions may bring something, and then there are three attempts.
        #expect(scene.server.received.count <= 4 * connections + 3)
    }

    @Test("D18: a server that sends a byte on each connection ends the download, and what has come is kept")
    func oneByteEach() async throws {
        let scene = try DownloadScene()
        scene.serve { reply, number in number <= 3 ? reply.cut(.inBody(1)) : reply }
        let error = await #expect(throws: ServiceError.self) {
            try await scene.client.download(.get("app.zip"), to: scene.target)
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .truncated)
        #expect(scene.ranges == [nil, "bytes=1-", "bytes=2-"])
        #expect(try await scene.client.download(.get("app.zip"), to: scene.target).resumedAfter == 3)
        #expect(scene.downloaded == scene.file.content)
    }

    @Test("D2: a part that is longer than its range is a lie, and nothing of that version is kept")
    func lyingPart() async throws {
        let scene = try DownloadScene(5000)
        scene.server.on(.get, "/app.zip") { [file = scene.file] request in
            guard request.headers["Range"] != nil else { return file.reply(to: request).cut(.inBody(1000)) }
            let reply = LoopbackReply.chunks(
                [file.content.dropFirst(1000), Data("more".utf8)],
                headers: ["ETag": "\"1\"", "Content-Range": "bytes 1000-4999/5000"])
            var partial = reply
            if case .write(let head) = partial.steps[0].kind {
                partial.steps[0] = .write(
                    Data(String(decoding: head, as: UTF8.self).replacing("HTTP/1.1 200", with: "HTTP/1.1 206").utf8))
            }
            return partial
        }
        let error = await #expect(throws: ServiceError.self) {
            try await scene.client.download(.get("app.zip"), to: scene.target)
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .malformed && failure.message.contains("more than it announced"))
        #expect(try scene.names == [])
    }

    @Test("a success that is not the file leaves the old file and what has come of the new one", arguments: [202, 204])
    func notTheFile(status: Int) async throws {
        let scene = try DownloadScene()
        try scene.scratch.write("old", to: "app.zip")
        scene.serve { $1 == 1 ? $0.cut(.inBody(1000)) : $1 == 2 ? .status(status, body: Data("{}".utf8)) : $0 }
        let error = await #expect(throws: ServiceError.self) {
            try await scene.client.download(.get("app.zip"), to: scene.target)
        }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .malformed && failure.message.contains("the status \(status)"))
        #expect(try scene.scratch.read("app.zip") == "old")
        #expect(try await scene.client.download(.get("app.zip"), to: scene.target).resumedAfter == 1000)
        #expect(scene.downloaded == scene.file.content)
    }

    /// What a server may answer to a range, and must not be appended.
    enum Misfit: CaseIterable {
        case whole, otherRange, otherTotal, otherVersion, weakVersion, noVersion, multipart, tooMuch
    }

    @Test("D2: whatever does not fit exactly is not appended; the download begins again", arguments: Misfit.allCases)
    func misfits(misfit: Misfit) async throws {
        let scene = try DownloadScene()
        let (old, size) = (scene.file.content, 200_000)
        // Where the file has changed, no byte is as before.
        let changed = Data(old.map { ~$0 })
        let file = LoopbackFile(changed, headers: ["ETag": "\"2\""])
        scene.server.on(.get, "/app.zip") { [first = scene.file] request in
            guard let range = request.headers["Range"] else {
                return request.number == 1 && request.connection == 1
                    ? first.reply(to: request).cut(.inBody(1000)) : file.reply(to: request)
            }
            #expect(range == "bytes=1000-")
            var fields: HTTPHeaders = ["ETag": "\"1\"", "Content-Range": "bytes 1000-\(size - 1)/\(size)"]
            var body = changed.dropFirst(1000)
            switch misfit {
            case .whole: return file.reply(to: request)
            case .otherRange:
                fields["Content-Range"] = "bytes 500-\(size - 1)/\(size)"
                body = changed.dropFirst(500)
            case .otherTotal: fields["Content-Range"] = "bytes 1000-\(size - 1)/\(size + 1)"
            case .otherVersion: fields["ETag"] = "\"2\""
            case .weakVersion: fields["ETag"] = "W/\"1\""
            case .noVersion: fields["ETag"] = nil
            case .multipart: fields["Content-Type"] = "multipart/byteranges; boundary=x"
            case .tooMuch: body += Data([1])
            }
            return .status(206, headers: fields, body: body)
        }
        let result = try await scene.client.download(.get("app.zip"), to: scene.target)
        #expect(scene.downloaded == changed)
        #expect(result.status == 200 && !result.isResumed)
        #expect(scene.ranges == [nil, "bytes=1000-"] + (misfit == .whole ? [] : [nil]))
    }

    @Test("D2: a part that holds less than was asked for is appended, and the rest requested")
    func shorterParts() async throws {
        let scene = try DownloadScene(5000)
        scene.server.on(.get, "/app.zip") { [file = scene.file] request in
            guard let range = request.headers["Range"], let start = Int(range.dropFirst(6).dropLast()) else {
                return file.reply(to: request).cut(.inBody(1000))
            }
            let fields: HTTPHeaders = ["ETag": "\"1\"", "Content-Range": "bytes \(start)-\(start + 999)/5000"]
            return .status(206, headers: fields, body: file.content.dropFirst(start).prefix(1000))
        }
        try await scene.client.download(.get("app.zip"), to: scene.target)
        #expect(scene.downloaded == scene.file.content)
        #expect(scene.ranges == [nil, "bytes=1000-", "bytes=2000-", "bytes=3000-", "bytes=4000-"])
    }

    @Test("D3: a 416 ends a download whose length is the whole; otherwise it begins again")
    func unsatisfied() async throws {
        for isWhole in [true, false] {
            let scene = try DownloadScene(1000)
            let content = scene.file.content
            // The server does not announce the length at first.
            scene.server.on(.get, "/app.zip") { request in
                guard request.headers["Range"] != nil else {
                    return request.connection == 1
                        ? LoopbackReply.chunks([content], headers: ["ETag": "\"1\""]).cut(.inBody(1000 + 5))
                        : .status(200, body: content)
                }
                return .status(416, headers: ["Content-Range": "bytes */\(isWhole ? 1000 : 900)"])
            }
            let file = try await scene.client.download(.get("app.zip"), to: scene.target)
            #expect(scene.downloaded == content)
            #expect(scene.ranges == [nil, "bytes=1000-"] + (isWhole ? [] : [nil]))
            #expect(file.status == (isWhole ? 416 : 200))
        }
    }

    @Test("a new download does not go on after another file, nor with `resuming: false`")
    func otherFile() async throws {
        let scene = try DownloadScene()
        let faults = Noted(0)
        scene.serve { reply, _ in
            faults.update { $0 -= 1 }
            return faults.value == 1 ? reply.cut(.inBody(1000)) : faults.value == 0 ? .status(404) : reply
        }
        scene.server.on(.get, "/other.zip", .status(200, headers: ["ETag": "\"1\""], body: Data("other".utf8)))
        func breakOff() async {
            faults.value = 2
            await #expect(throws: ServiceError.self) {
                try await scene.client.download(.get("app.zip"), to: scene.target)
            }
            #expect(scene.part?.count == 1000)
        }
        await breakOff()
        // Nothing has come in its place.
        await #expect(throws: ServiceError.self) {
            try await scene.client.download(.get("missing.zip"), to: scene.target)
        }
        #expect(scene.part?.count == 1000)
        try await scene.client.download(.get("other.zip"), to: scene.target)
        #expect(scene.downloaded == Data("other".utf8) && scene.ranges.last == .some(nil))
        await breakOff()
        let file = try await scene.client.download(.get("app.zip"), to: scene.target, resuming: false)
        #expect(scene.downloaded == scene.file.content && !file.isResumed && scene.ranges.last == .some(nil))
    }
}
