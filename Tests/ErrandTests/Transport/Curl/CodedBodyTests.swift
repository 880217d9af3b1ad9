#if os(Linux)
@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

/// Coded bodies without a network: in which steps they are decoded.
@Suite("The steps in which a coded body is decoded", .timeLimit(.minutes(10))) struct CodedBodyTests {
    private func take(_ bytes: Data, into buffer: CurlBuffer) {
        #expect(bytes.withUnsafeBytes { buffer.take($0) } == bytes.count)
    }

    private func body(_ sample: CodedSample, limit: Int = .max) -> CodedBody {
        let headers: HTTPHeaders = ["Content-Encoding": sample.codings]
        return CodedBody(CurlBuffer(), codings: headers.codings, limit: limit)
    }

    /// Takes steps until more coded bytes are wanted, or the body has ended; returns what was decoded, and the end.
    private func decode(_ body: CodedBody) async -> (pieces: [Data], ending: Result<Void, ServiceError>?) {
        var pieces: [Data] = []
        while true {
            switch await body.step(resuming: {}) {
            case .piece(let data): pieces.append(data)
            case .nothing: break
            case .wait: return (pieces, nil)
            case .end(let ending): return (pieces, ending)
            }
        }
    }

    private func kind(of ending: Result<Void, ServiceError>?) -> TransportFailure.Kind? {
        guard case .failure(.transport(let failure)) = ending else { return nil }
        return failure.kind
    }

    @Test("C39: bytes that come one by one are decoded to the same", arguments: CodedSample.all)
    func byteByByte(_ sample: CodedSample) async throws {
        let body = body(sample)
        var decoded = Data()
        for byte in sample.packed {
            take(Data([byte]), into: body.buffer)
            let (pieces, ending) = await decode(body)
            #expect(ending == nil)
            decoded += pieces.joined()
        }
        body.buffer.end(.success(()))
        let ending = try #require(await decode(body).ending)
        #expect(throws: Never.self) { try ending.get() }
        #expect(decoded == CodedSample.text)
    }

    @Test("C33: a body that ends within a coding is truncated, wherever that is", arguments: CodedSample.all)
    func cut(_ sample: CodedSample) async {
        for count in 1..<sample.packed.count {
            let body = body(sample)
            take(sample.packed.prefix(count), into: body.buffer)
            body.buffer.end(.success(()))
            #expect(kind(of: await decode(body).ending) == .truncated, "after \(count) bytes")
        }
    }

    @Test("a connection that breaks off counts before the coding that ends with it")
    func brokenOff() async {
        let body = body(.gzip)
        take(CodedSample.gzip.packed.prefix(20), into: body.buffer)
        body.buffer.end(.failure(.transport(TransportFailure(.reset))))
        #expect(kind(of: await decode(body).ending) == .reset)
    }

    @Test(
        "C46: no more is decoded than a piece that was asked for, however dense the body is",
        arguments: CodedSample.zeros(40 << 20) + [.brotliBomb])
    func pieces(_ sample: CodedSample) async throws {
        let body = body(sample)
        take(sample.packed, into: body.buffer)
        var (steps, count) = (0, 0)
        while count < 40 << 20, case .piece(let piece) = await body.step(resuming: {}) {
            #expect(piece.count <= CodedBody.pieceSize)
            count += piece.count
            steps += 1
        }
        #expect(count == 40 << 20 && steps >= (40 << 20) / CodedBody.pieceSize)
    }

    @Test(
        "C39: exactly the limit comes out, one byte more is too large",
        arguments: CodedSample.zeros(3_000_000), [0, 1, 2_999_000])
    func limit(_ sample: CodedSample, excess: Int) async throws {
        let body = body(sample, limit: 3_000_000 - excess)
        take(sample.packed, into: body.buffer)
        body.buffer.end(.success(()))
        let (pieces, ending) = await decode(body)
        #expect(kind(of: ending) == (excess == 0 ? nil : .tooLarge))
        #expect(pieces.reduce(0) { $0 + $1.count } <= 3_000_000 - excess)
    }

    @Test("C39: codings that make nothing end at the limit too, and give way to others between two steps")
    func nothing() async throws {
        let (limited, unlimited) = (body(.nothing, limit: 1 << 20), body(.nothing))
        for body in [limited, unlimited] {
            take(CodedSample.nothing.packed, into: body.buffer)
            body.buffer.end(.success(()))
        }
        #expect(kind(of: await decode(limited).ending) == .tooLarge)
        var steps = 0
        while case .nothing = await unlimited.step(resuming: {}) { steps += 1 }
        #expect(steps >= 19)
        #expect(await unlimited.collected == Data())
    }

    @Test("C39: a task that is cancelled stops decoding, though nothing comes out")
    func cancelled() async throws {
        let body = body(.nothing)
        take(CodedSample.nothing.packed, into: body.buffer)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await body.next(resuming: {})
        }
        await #expect(throws: ServiceError.cancelled) { try await task.value }
    }

    @Test("what has come can be read before the next comes", arguments: [CodedSample.gzip, .brotli, .zstd])
    func flushed(_ sample: CodedSample) async throws {
        let (hello, world) = (Data("hello, ".utf8), Data("world".utf8))
        // Blocks that are not compressed, of which each is complete when it has come.
        let (first, second): ([UInt8], [UInt8]) =
            switch sample.name {
            case "gzip": ([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255, 0, 7, 0, 0xF8, 0xFF], [1, 5, 0, 0xFA, 0xFF])
            case "br": ([0x60, 0x00, 0x10], [0x20, 0x00, 0x08])
            default: ([0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38, 7 << 3, 0, 0], [5 << 3 | 1, 0, 0])
            }
        let body = body(sample)
        take(Data(first) + hello, into: body.buffer)
        #expect(await decode(body).pieces.reduce(Data(), +) == hello)
        take(Data(second) + world, into: body.buffer)
        #expect(await decode(body).pieces.reduce(Data(), +) == world)
    }

    @Test("a reader who pauses makes libcurl pause, and reading makes it go on")
    func paused() async throws {
        let body = body(.gzip)
        let stored = Data(repeating: 1, count: 16 << 10)
        // One uncompressed block of gzip after the other.
        take(Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]), into: body.buffer)
        let block = Data([0, 0, 0x40, 0xFF, 0xBF]) + stored
        while block.withUnsafeBytes({ body.buffer.take($0) }) == block.count {}
        let resumes = Noted(0)
        guard case .piece = await body.step(resuming: { resumes.value += 1 }) else { throw CancellationError() }
        #expect(resumes.value == 1)
        #expect(await decode(body).pieces.reduce(0) { $0 + $1.count } > 1 << 19)
    }

    @Test("the names of codings are read from all fields, in order; identity is none")
    func names() {
        let headers: HTTPHeaders = ["Content-Encoding": " GZip ,, identity", "content-encoding": "br,zstd"]
        #expect(headers.codings == ["gzip", "br", "zstd"])
        for plain in ["", "identity", "Identity, identity", ","] {
            #expect((["Content-Encoding": plain] as HTTPHeaders).hasPlainBody)
        }
    }
}

extension CodedBody {
    /// The whole body, as far as it can be decoded.
    fileprivate var collected: Data? {
        get async { try? await collect(in: CallScope(), resuming: {}) }
    }
}
#endif
