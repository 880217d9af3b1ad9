import Errand
import ExampleServer
import ExampleServices
import Foundation

extension Step {
    static let sendPicture = Step(
        title: "A picture, with its progress", asked: "pins.addPicture(\"sunset.jpg\", to: pin, onProgress: …)"
    ) { scene in
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-demo-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let picture = folder.appending(path: "sunset.jpg")
        try Data(count: 20 << 20).write(to: picture)
        let pin = try await scene.pins.addPin("Sunset")
        let terminal = scene.terminal
        let shown = try await scene.pins.addPicture(picture.path, to: pin.pinID) { progress in
            terminal.showProgress(progress.bytes >> 10, of: (progress.total ?? 0) >> 10, "KB sent")
        }
        try await scene.pins.removePin(pin.pinID)
        guard let arrived = shown.picture else { throw Failure(description: "the pin has no picture") }
        try expect(arrived.bytes == 20 << 20, "\(arrived.bytes) bytes arrived")
        return "\(arrived.name) arrived as \(arrived.type), all \(arrived.bytes >> 20) MB of it"
    }
}
